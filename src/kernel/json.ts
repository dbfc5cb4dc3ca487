/** Parses JSON; undefined for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a parsed value is an object: neither null nor a list. Its members are not checked. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * No client nests values this deep. Code that walks a value calls itself for each level, and thousands of levels
 * overflow the stack.
 */
export const MAX_JSON_DEPTH = 200

/** Whether objects and lists are nested in this value more than `levels` deep. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  // Loops, because a list of the values of each object takes three times as long.
  if (Array.isArray(value)) {
    for (const inner of value) if (isDeeperThan(inner, levels - 1)) return true
  } else {
    for (const name in value) if (isDeeperThan((value as Record<string, unknown>)[name], levels - 1)) return true
  }
  return false
}
