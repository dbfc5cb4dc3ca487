import { isDeeperThan, MAX_JSON_DEPTH } from '../../../kernel/json-depth.ts'

/** A JSON object whose members nobody has checked yet. */
export type Json = { readonly [name: string]: unknown }

/** These small readers give a value of their type, whatever they are given. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function readObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function readText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The text, or null where there is none: missing, empty or of another type. */
export function readName(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A count as vendors report it: a whole number that is not negative, else null. */
export function readCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

/** The object that this text is; null for anything else, also for broken JSON and for JSON nested too deep. */
export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) && !isDeeperThan(value, MAX_JSON_DEPTH) ? value : null
  } catch {
    return null
  }
}

/**
 * The object that this text is, with each number that JavaScript would change kept as it was written, for values that are only passed on.
 * Null for anything else.
 */
export function parseExactly(text: string): Json | null {
  if (!/\d{16}|[eE][+-]?\d/.test(text)) return parseObject(text)
  try {
    const value: unknown = JSON.parse(text, keepNumber)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Missing in TypeScript's library (ECMAScript proposal "JSON.parse source text access"). */
type RawJson = { rawJSON(text: string): unknown }

function keepNumber(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  // Cast: see `RawJson`. A raw number is written as it is by `JSON.stringify`.
  return /\d{16}|[eE]/.test(source) ? (JSON as unknown as RawJson).rawJSON(source) : value
}
