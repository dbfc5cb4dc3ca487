import type { DialectTraits, StreamFailure, StreamTranslator } from '../dialects/dialect.ts'
import { makeSseDecoder } from '../dialects/sse/decode.ts'
import type { SseEvent } from '../dialects/sse/decode.ts'
import { encodeEvents } from '../dialects/sse/encode.ts'
import { ChunkWriter, hasUnread } from './chunk-writer.ts'
import { REPORTED } from './outcome.ts'
import { BACKEND_BROKE_OFF, endFailed } from './relay.ts'
import type { AnswerRewrite, Relay, RelayedExchange } from './relay.ts'
import { TICKS_OF_SILENCE } from './stream-keep-alive.ts'
import type { SilentStream, StreamKeepAlive } from './stream-keep-alive.ts'

type Needs = {
  readonly dialect: Pick<DialectTraits, 'failureEndsStream'>
  readonly keepAlive: StreamKeepAlive
}

/**
 * How long a backend may take to end a stream whose last event the caller has got. Most end it at once, and their
 * connection can be used again.
 */
const MAX_TRAILER_MS = 250

/**
 * How long a backend may be silent between the end of its answer and its usage. Some send neither a last event nor the
 * end of the stream, but comments for as long as the caller waits.
 */
const MAX_FINISHING_MS = 3000

/**
 * A stream whose events are decoded, rewritten and encoded again. It is kept alive while the backend is silent. A
 * class, because thousands of these are open at once. `take` may throw `SseEventTooLarge`.
 */
export class RewrittenStream implements Relay, SilentStream {
  /** Ends the call when the backend does not end its answer. */
  #ending: NodeJS.Timeout | null = null
  readonly #exchange: RelayedExchange
  readonly #rewrite: AnswerRewrite
  readonly #failureEndsStream: boolean
  readonly #translator: StreamTranslator
  readonly #keepAlive: StreamKeepAlive
  readonly #keepAliveSlot: number
  readonly #decoder = makeSseDecoder()
  readonly #writer: ChunkWriter
  #hasBegun = false
  #silentTicks = 0

  constructor(exchange: RelayedExchange, rewrite: AnswerRewrite, { dialect, keepAlive }: Needs) {
    this.#exchange = exchange
    this.#rewrite = rewrite
    this.#failureEndsStream = dialect.failureEndsStream
    this.#translator = rewrite.stream()
    this.#keepAlive = keepAlive
    this.#writer = new ChunkWriter(exchange)
    this.#keepAliveSlot = keepAlive.add(this)
  }

  take(chunk: Buffer): void {
    const before = this.#translator.state()
    const events = this.#decoder.push(chunk)
    this.#write(events.flatMap((event) => this.#translator.push(event)))
    const state = this.#translator.state()
    if (state === 'finishing' && events.length > 0) this.#endWithin(MAX_FINISHING_MS)
    if (state === 'ended' && before !== 'ended') this.#endWithin(MAX_TRAILER_MS)
    if (state !== 'failed') return
    this.cut('cut', BACKEND_BROKE_OFF, REPORTED)
    this.#exchange.abort()
  }

  end(): void {
    this.#write(this.#translator.end())
    if (this.#translator.state() === 'failed') return this.cut('cut', BACKEND_BROKE_OFF, 'ended_early')
    this.#exchange.res.end()
    this.#exchange.finish('whole', null)
  }

  #endWithin(ms: number): void {
    if (this.#ending) clearTimeout(this.#ending)
    this.#ending = setTimeout(this.#endEarly, ms)
  }

  /** The caller has the whole answer, and the backend does not end it. */
  readonly #endEarly = (): void => {
    this.end()
    this.#exchange.abort()
  }

  isComplete(): boolean {
    return this.#translator.state() === 'ended'
  }

  cut(kind: 'cut' | 'ended', { message }: StreamFailure, reason: string): void {
    const events = this.#translator.fail(message)
    if (events.length > 0) this.#exchange.res.write(encodeEvents(events))
    this.#exchange.finish(kind, reason)
    endFailed(this.#exchange.res, this.#failureEndsStream && this.#translator.state() === 'failed')
  }

  stop(): void {
    if (this.#ending) clearTimeout(this.#ending)
    this.#keepAlive.remove(this.#keepAliveSlot, this)
    this.#writer.stop()
  }

  tick(): void {
    if (++this.#silentTicks < TICKS_OF_SILENCE) return
    this.#silentTicks = 0
    const { res } = this.#exchange
    // A slow caller still has unread bytes, which keep its connection alive.
    if (this.#translator.state() === 'open' && !hasUnread(res)) res.write(this.#rewrite.keepAlive(this.#hasBegun))
  }

  #write(events: readonly SseEvent[]): void {
    if (events.length === 0) return
    this.#hasBegun = true
    this.#silentTicks = 0
    this.#writer.write(encodeEvents(events))
  }
}
