/**
 * Values of a statement in the binary format of Postgres (the functions `array_recv`, `int4recv` and so on of its
 * source). Reading arrays of many values costs the database half as much as in text.
 */
import { DAY_MS } from '../kernel/durations.ts'

export type ElementType = keyof typeof ELEMENTS

/** `timestamptz`: milliseconds since 1970. `date`: `2026-11-22`. `bigint`: up to 2^53. */
export type ElementValue = string | number | boolean | null | undefined

/** Writes one value behind its length, and returns where the next value begins. */
type Write = (bytes: Buffer, value: string | number | boolean, at: number) => number

/** The types, with their ids in every database (`pg_type.dat`). */
const ELEMENTS = {
  boolean: { id: 16, write: writeBoolean },
  bigint: { id: 20, write: (bytes, value, at) => writeBigint(bytes, Number(value), at) },
  int: { id: 23, write: (bytes, value, at) => writeInt(bytes, Number(value), at) },
  text: { id: 25, write: writeText },
  date: { id: 1082, write: (bytes, value, at) => writeInt(bytes, toDays(String(value)), at) },
  timestamptz: { id: 1184, write: (bytes, value, at) => writeBigint(bytes, (Number(value) - EPOCH) * 1000, at) },
  uuid: { id: 2950, write: writeUuid },
} as const satisfies Record<string, { readonly id: number; readonly write: Write }>

/** Where dates and times of Postgres begin. */
const EPOCH = Date.UTC(2000, 0, 1)

const EMPTY_BYTES = 12
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const FIRST_INDEX = 1
const NULL_LENGTH = -1

/** Writes an array. */
export function writeArray(type: ElementType, values: readonly ElementValue[]): Uint8Array {
  const bytes = Buffer.allocUnsafe(values.reduce(addMaxBytes, HEADER_BYTES))
  // The number of dimensions.
  bytes.writeInt32BE(Math.min(values.length, 1), 0)
  bytes.writeInt32BE(Number(values.some(isNull)), 4)
  bytes.writeInt32BE(ELEMENTS[type].id, 8)
  if (values.length === 0) return bytes.subarray(0, EMPTY_BYTES)
  bytes.writeInt32BE(values.length, 12)
  bytes.writeInt32BE(FIRST_INDEX, 16)
  return bytes.subarray(0, writeValues(bytes, ELEMENTS[type].write, values))
}

function writeValues(bytes: Buffer, write: Write, values: readonly ElementValue[]): number {
  let at = HEADER_BYTES
  let last: ElementValue = null
  let lastAt = at
  for (const value of values) {
    const start = at
    if (isNull(value)) at = bytes.writeInt32BE(NULL_LENGTH, at)
    // Most values are the one before, such as the name of a model, and copying is faster than writing.
    else if (value === last) for (let from = lastAt; from < start; from += 1) bytes[at++] = bytes[from] ?? 0
    else at = write(bytes, value, at)
    last = value
    lastAt = start
  }
  return at
}

function isNull(value: ElementValue): value is null | undefined {
  return value === null || value === undefined
}

/** Adds the length and the value: at most three bytes for each UTF-16 unit of a text, and eight for others. */
function addMaxBytes(sum: number, value: ElementValue): number {
  return sum + LENGTH_BYTES + (typeof value === 'string' ? 3 * value.length + 8 : 8)
}

function writeBoolean(bytes: Buffer, value: unknown, at: number): number {
  return bytes.writeUInt8(Number(value), bytes.writeInt32BE(1, at))
}

function writeInt(bytes: Buffer, value: number, at: number): number {
  return bytes.writeInt32BE(value, bytes.writeInt32BE(4, at))
}

function writeBigint(bytes: Buffer, value: number, at: number): number {
  const high = Math.floor(value / 2 ** 32)
  return bytes.writeUInt32BE(value - high * 2 ** 32, bytes.writeInt32BE(high, bytes.writeInt32BE(8, at)))
}

function writeText(bytes: Buffer, value: unknown, at: number): number {
  const length = bytes.write(String(value), at + LENGTH_BYTES)
  bytes.writeInt32BE(length, at)
  return at + LENGTH_BYTES + length
}

function writeUuid(bytes: Buffer, value: unknown, at: number): number {
  const text = String(value).replaceAll('-', '')
  const length = bytes.write(text, bytes.writeInt32BE(16, at), 'hex')
  // What is not a UUID would otherwise be read as another one.
  if (length !== 16 || text.length !== 32) throw new TypeError(`Not a UUID: ${String(value)}.`)
  return at + LENGTH_BYTES + length
}

function toDays(date: string): number {
  return (Date.parse(date) - EPOCH) / DAY_MS
}
