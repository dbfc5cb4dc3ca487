import { hasTooManyValues, isObject, isTooDeep, parseShallowJson, TooManyValues } from '../../../kernel/json.ts'

/** A JSON object whose members are not checked yet. */
export type Json = { readonly [name: string]: unknown }

/** Whether a member is there and is not null. */
export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

/** Returns the value if it is an object, else an empty object. */
export function readObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

/** Returns the value if it is a list, else an empty list. */
export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the texts of a list; none for a value that is no list. */
export function readTexts(value: unknown): readonly string[] {
  return readList(value).filter((one) => typeof one === 'string')
}

/** Returns the value if it is a text, else an empty text. */
export function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns the arguments of a call as JSON text. Some programs write an object in the place of the text. */
export function readArguments(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : readText(value)
}

/** Returns the value if it is a text that is not empty, else null. */
export function readName(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** Returns the value if it is a boolean, else null. */
export function readBoolean(value: unknown): boolean | null {
  return typeof value === 'boolean' ? value : null
}

/** Returns the value if it is a number, also one that keeps its original digits (`parseToRewrite`), else null. */
export function readNumber(value: unknown): number | null {
  if (typeof value === 'number') return value
  return isRawNumber(value) ? Number(value.rawJSON) : null
}

/** Returns the value if it is a whole number of at least 0, else null. */
export function readCount(value: unknown): number | null {
  const number = readNumber(value)
  return number !== null && Number.isSafeInteger(number) && number >= 0 ? number : null
}

/** Parses a JSON object. Null for any other JSON, for JSON that is nested too deep, and for text that is not JSON. */
export function parseObject(text: string): Json | null {
  const value = parseShallowJson(text)
  return isObject(value) ? value : null
}

/**
 * Parses a JSON object whose values are only passed on: numbers that JavaScript cannot represent keep their original
 * digits. Null for any other text.
 */
export function parseExactly(text: string): Json | null {
  if (!mayLoseDigits(text)) return parseObject(text)
  try {
    const value = parseToRewrite(text)
    return isObject(value) && !isTooDeep(value) ? value : null
  } catch {
    return null
  }
}

/** Parses JSON that is written again, in the same way. Throws for any other text, and for too many values. */
export function parseToRewrite(text: string): unknown {
  if (hasTooManyValues(text)) throw new TooManyValues()
  return mayLoseDigits(text) ? JSON.parse(text, keepNumber) : JSON.parse(text)
}

/**
 * Whether a JSON text may have numbers that JavaScript cannot represent. It looks for long numbers and exponents at the
 * places of values, because letters and digits in texts look like exponents.
 */
export function mayLoseDigits(text: string): boolean {
  return /[:[,]\s*-?(?:[\d.]{16,}|[\d.]+[eE])/.test(text)
}

type RawNumber = { readonly rawJSON: string }

/** Missing in TypeScript's library (ECMAScript proposal "JSON.parse source text access"). */
type RawJson = { rawJSON(text: string): RawNumber; isRawJSON(value: unknown): value is RawNumber }

// Cast: see `RawJson`.
const { rawJSON, isRawJSON: isRawNumber }: RawJson = JSON as unknown as RawJson

function keepNumber(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  // `JSON.stringify` writes a raw number with its original digits.
  return /\d{16}|[eE]/.test(source) ? rawJSON(source) : value
}
