/** Names as text, at most `max` of them: `a, b and 3 more`. */
export function writeShortList(names: readonly string[], max: number): string {
  const rest = names.length > max ? ` and ${names.length - max} more` : ''
  return names.slice(0, max).join(', ') + rest
}
