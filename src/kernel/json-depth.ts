/**
 * No client nests values this deep. Code that walks a value calls itself for each level, and thousands of levels
 * overflow the stack.
 */
export const MAX_JSON_DEPTH = 200

/** Whether objects and lists are nested in this value more than `levels` deep. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const inside: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return inside.some((inner) => isDeeperThan(inner, levels - 1))
}
