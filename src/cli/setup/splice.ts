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

/** The line end of a text: `\r\n` if it has one, else `\n`. */
export function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

/** The position after the byte order mark, if the text has one. Each character of the text is a byte. */
export function startOf(text: string): number {
  return text.startsWith('\u00ef\u00bb\u00bf') ? 3 : 0
}
