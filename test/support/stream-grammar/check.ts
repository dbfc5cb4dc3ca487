import { readObject } from '../../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../../src/gateway/dialects/json/read-json.ts'
import type { SseEvent } from '../../../src/gateway/dialects/sse/decode.ts'
import { isObject } from '../../../src/kernel/json.ts'

/**
 * Takes the events of one whole stream and returns the violations of its dialect's grammar, one line each. An empty
 * list means that all clients of the vendor can read the stream.
 */
export type Checker = (events: readonly SseEvent[]) => string[]

/** Notes a violation unless something holds, and keeps what the checkers of all dialects need. */
export type Check = {
  (holds: boolean, violation: string): void
  /** The index of the event that is checked now. */
  at: number
  /** The event that ended the stream; null before that. */
  ended: string | null
  readonly violations: string[]
  /** The JSON object in the data of an event; notes a violation and returns an empty object when it is none. */
  object(data: string): Json
}

export function newCheck(): Check {
  const violations: string[] = []
  const check = (holds: boolean, violation: string): void => {
    if (!holds) violations.push(`event ${String(checked.at)}: ${violation}`)
  }
  const object = (data: string): Json => {
    const value = parseJson(data)
    check(isObject(value), `the data is not a JSON object: ${data.slice(0, 80)}`)
    return readObject(value)
  }
  const checked: Check = Object.assign(check, { at: 0, ended: null, violations, object })
  return checked
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a value is a non-negative integer, as a count of tokens is. */
export function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}
