/** Parses JSON; undefined for any other text, and for a document with too many values. */
export function parseJson(text: string): unknown {
  try {
    return hasTooManyValues(text) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Thrown for a document that has too many values to be parsed. */
export class TooManyValues extends Error {}

/**
 * Parsing this many values takes up to half a second, in which the process does nothing else. 30 MB of small objects
 * would take ten. The longest conversations of agents have a tenth of this.
 */
export const MAX_JSON_VALUES = 500_000

/**
 * Whether a JSON document has more values than may be parsed. Objects, lists, commas and colons are counted, so a
 * member with its name counts as two.
 */
export function hasTooManyValues(text: string): boolean {
  // Each value takes a character.
  if (text.length <= MAX_JSON_VALUES) return false
  let values = 0
  let isInText = false
  for (let at = 0; at < text.length && values <= MAX_JSON_VALUES; at++) {
    const character = text.charCodeAt(at)
    if (character === QUOTE) isInText = !isInText
    else if (isInText) at += character === BACKSLASH ? 1 : 0
    else if (STARTS_VALUE.has(character)) values++
  }
  return values > MAX_JSON_VALUES
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `,`, `:`, `[` and `{`. */
const STARTS_VALUE: ReadonlySet<number> = new Set([0x2c, 0x3a, 0x5b, 0x7b])

/** Matches a string, with the colon behind it where it is a name, or a brace. An open string ends with the document. */
const NAMES = /("(?:[^"\\]|\\.?)*(?:"|$))\s*(:)?|[{}]/gs

/** A name that one object of a JSON document has twice, also when it is escaped differently; null: there is none. */
export function findRepeatedName(json: string): string | null {
  const objects: Set<string>[] = []
  for (const [token, text = '', colon] of json.matchAll(NAMES)) {
    if (token === '{') objects.push(new Set())
    else if (token === '}') objects.pop()
    if (colon === undefined) continue
    const name = parseJson(text)
    // The document is no JSON.
    if (typeof name !== 'string') return null
    const names = objects.at(-1)
    if (names?.has(name)) return name
    names?.add(name)
  }
  return null
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

/** Whether objects and lists are nested in this value more than `MAX_JSON_DEPTH` deep. */
export function isTooDeep(value: unknown): boolean {
  return countValues(value, MAX_JSON_DEPTH) === Infinity
}

/** How many values a value consists of, with itself; `Infinity` when they are nested more than `levels` deep. */
export function countValues(value: unknown, levels: number): number {
  if (typeof value !== 'object' || value === null) return 1
  if (levels === 0) return Infinity
  let count = 1
  // Loops, because a list of the values of each object takes three times as long.
  if (Array.isArray(value)) {
    for (const inner of value) count += countValues(inner, levels - 1)
  } else {
    for (const name in value) count += countValues((value as Record<string, unknown>)[name], levels - 1)
  }
  return count
}

/** Parses JSON. Undefined when it is not JSON, or is nested more than `MAX_JSON_DEPTH` deep. */
export function parseShallowJson(text: string): unknown {
  const value = parseJson(text)
  return isTooDeep(value) ? undefined : value
}
