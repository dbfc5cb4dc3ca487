import type { StreamFailure, StreamState, StreamTranslator } from '../dialect.ts'
import { sseDecoder } from './decode.ts'
import type { SseEvent } from './decode.ts'
import { encodeEvent } from './encode.ts'

/** Turns the bytes of a stream into others, whole events at a time. */
export type StreamRewriter = {
  push(chunk: Buffer): Buffer
  /** The backend has ended its answer; returns what is left. */
  end(): Buffer
  /** Tells the client of a failure, unless the stream has ended. */
  fail(failure: StreamFailure): Buffer
  state(): StreamState
  /** What may be said between events to keep a silent stream alive. */
  keepAlive(): string
}

/** A stream translator between bytes and bytes. Throws `SseEventTooLarge` from `push`. */
export function makeStreamRewriter(
  translator: StreamTranslator,
  keepAlive: (begun: boolean) => string,
): StreamRewriter {
  const decoder = sseDecoder()
  let begun = false

  const toBytes = (events: readonly SseEvent[]): Buffer => {
    begun ||= events.length > 0
    return events.length === 0 ? NOTHING : Buffer.from(events.map(encodeEvent).join(''))
  }
  return {
    push: (chunk) => toBytes(decoder.push(chunk).flatMap((event) => translator.push(event))),
    end: () => toBytes(translator.end()),
    fail: ({ message }) => toBytes(translator.fail(message)),
    state: () => translator.state(),
    keepAlive: () => keepAlive(begun),
  }
}

const NOTHING = Buffer.alloc(0)
