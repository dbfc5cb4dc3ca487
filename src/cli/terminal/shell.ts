/**
 * Writes an argument so that the shell of an operating system reads it as one word. A POSIX shell expands nothing in
 * it. On Windows that shell is cmd.exe, which knows only double quotes. Neither paths nor URLs have one.
 */
export function quoteForShell(argument: string, platform: NodeJS.Platform): string {
  if (/^[\w@%+=:,./-]+$/.test(argument)) return argument
  return platform === 'win32' ? `"${argument}"` : `'${argument.replaceAll("'", `'\\''`)}'`
}

/** Writes a text as a string of PowerShell. Typographic quotes end a string there too. */
export function quoteForPowerShell(text: string): string {
  return `'${text.replaceAll(/['\u2018-\u201b]/g, '$&$&')}'`
}
