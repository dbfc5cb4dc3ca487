/** A JSON object whose members nobody has checked yet. */
export type Json = { readonly [name: string]: unknown }

/** Small readers for bodies that only looked right so far: each gives a value of its type, whatever it is given. */
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

/** The object that this text is; null for anything else, broken JSON included. */
export function parseObject(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}
