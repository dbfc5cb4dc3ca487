/**
 * One change of a text: at position `at`, `removed` is replaced by `added`. In a list, each position counts in the text
 * that the change before it has made.
 */
export type Splice = { readonly at: number; readonly removed: string; readonly added: string }

/** Applies splices one after the other. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  return splices.reduce(
    (current, { at, removed, added }) => current.slice(0, at) + added + current.slice(at + removed.length),
    text,
  )
}

/** Undoes splices in the text that they made. */
export function revertSplices(text: string, splices: readonly Splice[]): string {
  return splices.reduceRight(
    (current, { at, removed, added }) => current.slice(0, at) + removed + current.slice(at + added.length),
    text,
  )
}

/**
 * Undoes splices in a text that was changed afterwards. Null when an added part is missing, or is there more than once.
 * `rewritten` names the keys that the tool itself sets: their values may be others by now.
 */
export function revertInChanged(
  text: string,
  splices: readonly Splice[],
  rewritten: readonly string[] = [],
): string | null {
  let current = text
  for (const { removed, added } of splices.toReversed()) {
    const [found, ...others] = current.matchAll(toPattern(added, rewritten))
    if (!found || others.length > 0) return null
    current = current.slice(0, found.index) + removed + current.slice(found.index + found[0].length)
  }
  return current
}

/** Matches an added part. Its last line end may be gone, because a tool adds new keys after the last one. */
function toPattern(added: string, rewritten: readonly string[]): RegExp {
  const end = /\r?\n$/.exec(added)?.[0] ?? ''
  const lines = added.slice(0, added.length - end.length).split('\n')
  const patterns = lines.map((line) => {
    const key = rewritten.find((name) => line.startsWith(`${name} = `))
    return key === undefined ? escapePattern(line) : `${escapePattern(key)} = [^\\n]*`
  })
  return new RegExp(`${patterns.join('\\n')}(?:${end})?`, 'g')
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
}

/** The line end of a text: `\r\n` if it has one, else `\n`. */
export function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** The position after the byte order mark, if the text has one. Each character of the text is a byte. */
export function startOf(text: string): number {
  return text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0
}

/** The position after what a sticky pattern matches at a position; the same position where it matches nothing. */
export function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}
