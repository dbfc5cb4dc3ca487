import { isObject } from '../../../kernel/json.ts'
import type { StreamFilter, StreamUsage } from '../dialect.ts'
import { parseObject, readList } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { makeSseDecoder } from '../sse/decode.ts'

/** A chat stream reports its usage in a last chunk, and only when `stream_options.include_usage` asks for it. */
export const CHAT_STREAM_USAGE: StreamUsage = {
  ask({ stream_options: options }) {
    if (options === undefined || options === null) return { stream_options: { include_usage: true } }
    if (!isObject(options) || options.include_usage === true) return null
    return { stream_options: { ...options, include_usage: true } }
  },
  makeFilter: () => new UsageFilter(),
}

/** Whether a chunk reports usage and nothing else. */
export function isUsageChunk({ choices, usage, error }: Json): boolean {
  return isObject(usage) && readList(choices).length === 0 && error === undefined
}

/** A larger event is not a report of usage. It passes at once. */
const MAX_HELD_BYTES = 64 * 1024

const KEY = Buffer.from('usage"')
const REPORT = /"usage"\s*:\s*\{/
const EVENT_END = /\r\n\r\n|\n\n|\r\r/g
const NOTHING = Buffer.alloc(0)

/** A class, because thousands of these are open at once. A chunk without a report of usage costs one native search. */
class UsageFilter implements StreamFilter {
  /** The start of an event whose end has not come yet. */
  #held: Buffer = NOTHING

  push(chunk: Buffer): Buffer {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const end = endOfEvents(bytes)
    if (bytes.length - end > MAX_HELD_BYTES) {
      this.#held = NOTHING
      return bytes
    }
    this.#held = end === bytes.length ? NOTHING : Buffer.from(bytes.subarray(end))
    return withoutReports(end === bytes.length ? bytes : bytes.subarray(0, end))
  }

  end(): Buffer {
    const held = this.#held
    this.#held = NOTHING
    return held
  }
}

const BLANK_LINES = ['\n\n', '\r\n\r\n', '\r\r'].map((blank) => Buffer.from(blank))
const LF = 0x0a

/** The position after the last blank line; 0 when there is none. */
function endOfEvents(bytes: Buffer): number {
  const { length } = bytes
  if (bytes[length - 1] === LF && bytes[length - 2] === LF) return length
  const ends = BLANK_LINES.map((blank) => {
    const at = bytes.lastIndexOf(blank)
    return at === -1 ? 0 : at + blank.length
  })
  return Math.max(...ends)
}

/** Whole events without those that only report usage. */
function withoutReports(events: Buffer): Buffer {
  if (!events.includes(KEY)) return events
  const text = events.toString('latin1')
  if (!REPORT.test(text)) return events
  const kept: Buffer[] = []
  let start = 0
  for (const { index, 0: blank } of text.matchAll(EVENT_END)) {
    const end = index + blank.length
    const event = events.subarray(start, end)
    if (!isReport(event)) kept.push(event)
    start = end
  }
  return Buffer.concat(kept)
}

function isReport(event: Buffer): boolean {
  const [decoded] = makeSseDecoder().push(event)
  const body = decoded ? parseObject(decoded.data) : null
  return body !== null && isUsageChunk(body)
}
