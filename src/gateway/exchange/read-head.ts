import type { IncomingHttpHeaders } from 'node:http'
import { toWholeSeconds } from '../../http/errors.ts'
import type { AnswerHead } from './answer.ts'

/**
 * Reads the head of a backend's answer. Of a repeated header the first value counts, as in Node's own client.
 * `Retry-After` becomes whole seconds, at least one, whether the backend says it in seconds, in milliseconds or as a
 * date (RFC 9110, section 10.2.3). Codex takes a fraction for no time at all and gives up, and repeats a call at once
 * after a 0. A time that cannot be read is left out.
 */
export function readHead(status: number, headers: IncomingHttpHeaders, now: Date): AnswerHead {
  const { 'content-type': type, 'retry-after': after, 'retry-after-ms': afterMs } = headers
  if (!Array.isArray(type) && after === undefined && afterMs === undefined) return { status, headers }
  const seconds = readTime(firstOf(after), now) ?? readMilliseconds(firstOf(afterMs))
  const { 'retry-after': _replaced, ...others } = headers
  return {
    status,
    headers: {
      ...others,
      ...(type !== undefined && { 'content-type': firstOf(type) }),
      ...(afterMs !== undefined && { 'retry-after-ms': firstOf(afterMs) }),
      ...(seconds !== null && { 'retry-after': String(seconds) }),
    },
  }
}

/** undici has a list for a header that is repeated, against Node's types. */
function firstOf(value: unknown): string {
  return String((Array.isArray(value) ? value[0] : value) ?? '')
}

const NUMBER = /^\d{1,9}(?:\.\d*)?$/

function readTime(value: string, now: Date): number | null {
  if (NUMBER.test(value)) return toWholeSeconds(Number(value))
  const at = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? null : toWholeSeconds((at - now.getTime()) / 1000)
}

function readMilliseconds(value: string): number | null {
  return NUMBER.test(value) ? toWholeSeconds(Number(value) / 1000) : null
}
