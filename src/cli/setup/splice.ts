/**
 * One change of a text: at `at`, `removed` gives way to `added`. Of several, each counts in the text that the one
 * before has left.
 */
export type Splice = { readonly at: number; readonly removed: string; readonly added: string }

/** The text after the splices, which are applied one after the other. */
export function applySplices(text: string, splices: readonly Splice[]): string {
  return splices.reduce(
    (current, { at, removed, added }) => current.slice(0, at) + added + current.slice(at + removed.length),
    text,
  )
}

/** The text before the splices, of the very text that they left. */
export function revertSplices(text: string, splices: readonly Splice[]): string {
  return splices.reduceRight(
    (current, { at, removed, added }) => current.slice(0, at) + removed + current.slice(at + added.length),
    text,
  )
}

/**
 * The same for a text that somebody has changed since; null when what was added cannot be told from the rest any more.
 */
export function revertInChanged(text: string, splices: readonly Splice[]): string | null {
  let current = text
  for (const { removed, added } of splices.toReversed()) {
    const at = current.indexOf(added)
    if (at < 0 || current.includes(added, at + 1)) return null
    current = current.slice(0, at) + removed + current.slice(at + added.length)
  }
  return current
}

/** How the lines of a text end; `\n` where it has only one. */
export function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** Where a text begins behind its byte order mark, if it has one. A character is a byte. */
export function startOf(text: string): number {
  return text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0
}
