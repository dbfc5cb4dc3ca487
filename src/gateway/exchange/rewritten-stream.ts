import type { DialectTraits, StreamFailure, StreamTranslator } from '../dialects/dialect.ts'
import { makeSseDecoder } from '../dialects/sse/decode.ts'
import type { SseEvent } from '../dialects/sse/decode.ts'
import { encodeEvents } from '../dialects/sse/encode.ts'
import { ChunkWriter, hasUnread } from './chunk-writer.ts'
import { EndTimeout } from './end-timeout.ts'
import { REPORTED } from './outcome.ts'
import { BACKEND_BROKE_OFF, endFailed } from './stream-failures.ts'
import type { AnswerRewrite, Relay, RelayedExchange } from './relay.ts'
import { TICKS_OF_SILENCE } from './stream-keep-alive.ts'
import type { SilentStream, StreamKeepAlive } from './stream-keep-alive.ts'

type Needs = {
  readonly dialect: Pick<DialectTraits, 'failureEndsStream' | 'keepAlive'>
  readonly isTranslated: boolean
  readonly keepAlive: StreamKeepAlive
}

/**
 * A stream whose events are decoded, rewritten and encoded again. It is kept alive while the backend is silent. A
 * class, because thousands of these are open at once. `take` may throw `SseEventTooLarge`.
 */
export class RewrittenStream implements Relay, SilentStream {
  readonly #exchange: RelayedExchange
  readonly #dialect: Needs['dialect']
  readonly #isTranslated: boolean
  readonly #translator: StreamTranslator
  readonly #keepAlive: StreamKeepAlive
  readonly #keepAliveSlot: number
  readonly #decoder = makeSseDecoder()
  readonly #writer: ChunkWriter
  readonly #endTimeout: EndTimeout
  #hasBegun = false
  #silentTicks = 0
  #takenBytes = 0

  constructor(exchange: RelayedExchange, rewrite: AnswerRewrite, { dialect, isTranslated, keepAlive }: Needs) {
    this.#exchange = exchange
    this.#dialect = dialect
    this.#isTranslated = isTranslated
    this.#translator = rewrite.stream()
    this.#keepAlive = keepAlive
    this.#writer = new ChunkWriter(exchange)
    this.#endTimeout = new EndTimeout(exchange, this)
    this.#keepAliveSlot = keepAlive.add(this)
  }

  take(chunk: Buffer): void {
    this.#takenBytes += chunk.length
    const events = this.#decoder.push(chunk)
    this.#write(events.flatMap((event) => this.#translator.push(event)))
    const state = this.#translator.state()
    this.#endTimeout.note(state, events.length > 0)
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

  isComplete(): boolean {
    return this.#translator.state() === 'ended'
  }

  /** A translation keeps all texts, of which small events hold less than half. An unfinished event is held in full. */
  heldBytes(): number {
    const unfinished = this.#decoder.heldBytes()
    return this.#isTranslated ? (this.#takenBytes + unfinished) / 2 : unfinished
  }

  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void {
    const events = this.#translator.fail(failure)
    if (events.length > 0) this.#exchange.res.write(encodeEvents(events))
    this.#exchange.finish(kind, reason)
    endFailed(this.#exchange.res, this.#dialect.failureEndsStream && this.#translator.state() === 'failed')
  }

  stop(): void {
    this.#endTimeout.stop()
    this.#keepAlive.remove(this.#keepAliveSlot, this)
    this.#writer.stop()
  }

  tick(): void {
    if (++this.#silentTicks < TICKS_OF_SILENCE) return
    this.#silentTicks = 0
    const { res } = this.#exchange
    // A slow caller still has unread bytes, which keep its connection alive.
    if (this.#translator.state() === 'open' && !hasUnread(res)) res.write(this.#dialect.keepAlive(this.#hasBegun))
  }

  #write(events: readonly SseEvent[]): void {
    if (events.length === 0) return
    this.#hasBegun = true
    this.#silentTicks = 0
    this.#writer.write(encodeEvents(events))
  }
}
