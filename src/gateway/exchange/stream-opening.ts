import { ByteChunks } from '../../kernel/pieces.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { backendFailed, ENDED_EARLY } from '../dialects/failures/failure.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { findRefusedPart } from '../dialects/refused-parts.ts'
import { makeSseDecoder } from '../dialects/sse/decode.ts'
import { isCompressed, writeHead } from './answer.ts'
import type { AnswerHead } from './answer.ts'
import { maskCredential } from './credential-refusal.ts'
import type { ExchangeOptions, Relay, RelayedExchange } from './relay.ts'
import { keepFailure } from './reported-failure.ts'
import type { FailureNeeds } from './reported-failure.ts'
import { RewrittenStream } from './rewritten-stream.ts'
import { TICKS_OF_SILENCE } from './stream-keep-alive.ts'
import type { SilentStream } from './stream-keep-alive.ts'
import { UntouchedStream } from './untouched-stream.ts'
import { EMPTY } from './whole-relay.ts'

type Needs = FailureNeeds &
  Pick<ExchangeOptions, 'dialect' | 'wantsStream' | 'rewrite' | 'filter' | 'keepAlive' | 'keepsErrors'>

/** The failure where a backend streams its answer to a call that did not ask for that, and cannot read it. */
export const UNASKED = backendFailed(
  'The backend answered with a stream, although the call did not ask for one. Send "stream": true.',
)

/** More than this is content. The events before an answer repeat the instructions and the tools of the request. */
const MAX_HELD_BYTES = 512 * 1024

/**
 * Holds a stream back until its first event is there, because vendors report errors in it after a status of 200. The
 * head is sent with the first event, or when a keep-alive is due. Where an error can become another answer, the events
 * before the answer are held too. A compressed stream is not held back, because it cannot be read.
 */
export class StreamOpening implements Relay, SilentStream {
  readonly #exchange: RelayedExchange
  readonly #head: AnswerHead
  readonly #needs: Needs
  readonly #decoder = makeSseDecoder()
  readonly #keepAliveSlot: number
  readonly #held = new ByteChunks()
  #ticks = 0

  constructor(exchange: RelayedExchange, head: AnswerHead, needs: Needs) {
    this.#exchange = exchange
    this.#head = head
    this.#needs = needs
    this.#keepAliveSlot = needs.keepAlive.add(this)
  }

  take(chunk: Buffer): void {
    const isContent = this.#held.length === 0 && (isNoEvent(chunk) || isCompressed(this.#head))
    this.#held.add(chunk)
    if (isContent || this.#held.length > MAX_HELD_BYTES) return this.#begin()
    const { readErrorEvent, isPreamble } = this.#needs.backendDialect
    for (const event of this.#decoder.push(chunk)) {
      if (this.#canReplace() && isPreamble(event)) continue
      const failure = readErrorEvent(event)
      if (failure) this.#maskHeld()
      if (!failure || !this.#settleWith(failure)) this.#begin()
      return
    }
  }

  /** Whether the caller can get another answer than this stream. */
  #canReplace(): boolean {
    const { keepsErrors, rewrite, wantsStream } = this.#needs
    return keepsErrors || rewrite !== null || !wantsStream
  }

  /** The answer begins. A caller that did not ask for a stream gets a failure instead. */
  #begin(): void {
    if (this.#needs.wantsStream) return void this.#handOver()
    this.#keepFailure(UNASKED)
    this.#exchange.abort()
  }

  /** A stream that ends before its answer begins is an error, where the caller can get one. */
  end(): void {
    const isEmpty = this.#held.length === 0
    if (isEmpty || this.#canReplace()) this.#keepFailure(isEmpty ? EMPTY : ENDED_EARLY)
    else this.#handOver().end()
  }

  isComplete(): boolean {
    return false
  }

  heldBytes(): number {
    return this.#held.length
  }

  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void {
    this.#handOver().cut(kind, failure, reason)
  }

  stop(): void {
    this.#held.clear()
    this.#needs.keepAlive.remove(this.#keepAliveSlot, this)
  }

  tick(): void {
    if (this.#needs.wantsStream && ++this.#ticks >= TICKS_OF_SILENCE) this.#handOver()
  }

  /** Sends the head, and hands what is held and the rest of the stream over to the relay that it returns. */
  #handOver(): Relay {
    const held = this.#held.take()
    this.stop()
    const relay = startStreamRelay(this.#exchange, this.#head, this.#needs)
    this.#exchange.relayWith(relay)
    if (held.length > 0 && !this.#exchange.isOver) relay.take(held)
    return relay
  }

  /** Overwrites the service's own credential in what is held, which ends with an error. */
  #maskHeld(): void {
    const held = this.#held.take()
    maskCredential(held, this.#needs.credential)
    this.#held.add(held)
  }

  /** Settles the exchange with a failure that the caller does not get as a stream. Returns whether it did. */
  #settleWith(failure: Failure): boolean {
    const { refusedParts } = this.#needs.backendDialect
    const isReplaced = failure.kind === 'account' || this.#canReplace()
    if (!isReplaced && findRefusedPart(refusedParts, failure) === null) return false
    this.#keepFailure(failure)
    this.#exchange.abort()
    return true
  }

  #keepFailure(failure: Failure): void {
    keepFailure(this.#exchange, failure, { head: this.#head, body: null }, this.#needs)
  }
}

/** Writes the head of a stream and starts to relay its events. */
function startStreamRelay(exchange: RelayedExchange, head: AnswerHead, needs: Needs): Relay {
  const { rewrite, dialect, isTranslated } = needs
  const { headers } = head
  const shown = rewrite ? { ...headers, 'content-type': 'text/event-stream; charset=utf-8' } : headers
  exchange.beginAnswer(head.status)
  const more = streamHeaders(headers['cache-control'])
  writeHead(exchange.res, { status: head.status, headers: shown }, more, isTranslated)
  exchange.res.flushHeaders()
  if (rewrite) return new RewrittenStream(exchange, rewrite, needs)
  // Without either header the answer ends when the connection closes, and a crash of the backend looks the same.
  const untilClosed = headers['transfer-encoding'] === undefined && headers['content-length'] === undefined
  const monitor = dialect.monitorStream({ untilClosed })
  // A compressed stream cannot be read.
  const filter = isCompressed(head) ? null : needs.filter
  return new UntouchedStream(exchange, { dialect, monitor, filter })
}

function streamHeaders(cacheControl: string | undefined) {
  return { 'x-accel-buffering': 'no', ...(cacheControl === undefined && { 'cache-control': 'no-cache' }) }
}

/** Whether a first chunk cannot begin an event (WHATWG HTML, section 9.2.5): some streams are lines of JSON. */
function isNoEvent(chunk: Buffer): boolean {
  return chunk[0] === OPENING_BRACE
}

const OPENING_BRACE = 0x7b
