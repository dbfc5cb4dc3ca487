import type { DialectTraits, StreamFailure, StreamMonitor } from '../dialect.ts'
import { makeSseDecoder } from '../sse/decode.ts'

/** What a monitor needs from a dialect. Made for each stream. */
export type MonitoredDialect = {
  /** The last event of a complete stream contains one of these texts. */
  readonly endings: readonly Buffer[]
  /**
   * Whether the end of a stream, which is its last chunk or the last two, is the last event of a complete one. No
   * content of an answer may look like that, because a call that its caller left is billed by an estimate only before
   * its end.
   */
  readonly endsStream: (end: Buffer) => boolean
  /** Whether the end of a stream reports a failure of the backend. */
  readonly endsFailed: (end: Buffer) => boolean
  readonly failureEvent: (failure: StreamFailure) => string
  /** Receives every chunk, for a dialect whose failure event repeats values of earlier events. */
  readonly see?: (chunk: Buffer) => void
}

/**
 * Makes a monitor for one stream. It reads the last four bytes of a chunk, and more only where the dialect needs it. It
 * keeps the last chunk, and the one before a short chunk.
 */
export function makeStreamMonitor(
  { endings, endsStream, endsFailed, failureEvent, see }: MonitoredDialect,
  { untilClosed }: { readonly untilClosed: boolean },
): StreamMonitor {
  const boundary = watchBoundary()
  const ending = untilClosed ? watchEnding(endings) : null
  let last: Buffer = NOTHING
  let beforeLast: Buffer = NOTHING
  const hasEnd = (matches: (end: Buffer) => boolean) =>
    boundary.isBetweenEvents() && matches(Buffer.concat([beforeLast, last]))
  return {
    see(chunk) {
      boundary.see(chunk)
      ending?.see(chunk)
      see?.(chunk)
      beforeLast = chunk.length <= MAX_SHORT_BYTES ? last : NOTHING
      last = chunk
    },
    hasEnded: () => ending?.found() ?? true,
    isComplete: () => hasEnd(endsStream),
    hasFailed: () => hasEnd(endsFailed),
    failure: (failure) => (boundary.isBetweenEvents() ? failureEvent(failure) : null),
  }
}

const NOTHING = Buffer.alloc(0)

/** A chunk of this size may only have the regular last event of a dialect, which may follow a failure. */
const MAX_SHORT_BYTES = 64

/** More than the last event of a chat or messages stream has, also of the vendor that pads its events with spaces. */
const MAX_LAST_EVENT_BYTES = 256

/** Makes a test for a dialect whose last event is short: whether the end of a stream matches. */
export function endsLike(pattern: RegExp): (end: Buffer) => boolean {
  return (end) => pattern.test(end.toString('latin1', Math.max(0, end.length - MAX_LAST_EVENT_BYTES)))
}

/**
 * Makes a test for a dialect with events for failures: whether the last event is one of them, or the one before it,
 * because some servers write the regular last event of the dialect after a failure.
 */
export function endsWithFailure(readErrorEvent: DialectTraits['readErrorEvent']): MonitoredDialect['endsFailed'] {
  return (end) =>
    makeSseDecoder()
      .push(end)
      .slice(-2)
      .some((event) => readErrorEvent(event) !== null)
}

/** A blank line ends an event, with any of the three line ends of the standard (WHATWG HTML, section 9.2.6). */
function watchBoundary() {
  const LF = 0x0a
  const CR = 0x0d
  let tail = (LF << 8) | LF
  return {
    see(chunk: Buffer): void {
      for (let at = Math.max(0, chunk.length - 4); at < chunk.length; at++) tail = (tail << 8) | (chunk[at] ?? 0)
    },
    isBetweenEvents(): boolean {
      const last = tail & 0xff
      const before = (tail >>> 8) & 0xff
      if (last !== LF) return last === CR && before === CR
      return before === LF || (before === CR && [LF, CR].includes((tail >>> 16) & 0xff))
    },
  }
}

function watchEnding(endings: readonly Buffer[]) {
  // These last bytes of a chunk are kept, to find an ending that spans two chunks.
  const keptBytes = Math.max(...endings.map(({ length }) => length)) - 1
  let kept = Buffer.alloc(0)
  let found = false
  return {
    see(chunk: Buffer): void {
      const joined = Buffer.concat([kept, chunk])
      found ||= endings.some((ending) => joined.includes(ending))
      kept = Buffer.from(joined.subarray(-keptBytes))
    },
    found: () => found,
  }
}
