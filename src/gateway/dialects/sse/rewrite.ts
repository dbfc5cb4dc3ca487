import type { StreamFailure, StreamState, StreamTranslator } from '../dialect.ts'
import { makeSseDecoder } from './decode.ts'
import type { SseEvent } from './decode.ts'
import { encodeEvent } from './encode.ts'

/** Rewrites the bytes of a stream, event by event. */
export type StreamRewriter = {
  push(chunk: Buffer): Buffer
  /** Called when the backend has ended its answer; returns the remaining bytes. */
  end(): Buffer
  /** Returns the bytes that report a failure to the client; none when the stream has ended. */
  fail(failure: StreamFailure): Buffer
  state(): StreamState
  /** Returns the text that keeps a silent stream alive. Write it only between events. */
  keepAlive(): string
}

/** Makes a rewriter that decodes events, translates them and encodes them. `push` may throw `SseEventTooLarge`. */
export function makeStreamRewriter(
  translator: StreamTranslator,
  keepAlive: (begun: boolean) => string,
): StreamRewriter {
  const decoder = makeSseDecoder()
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
