import { ApiError } from '../../http/errors.ts'
import type { DialectTraits, StreamFailure } from '../dialects/dialect.ts'
import type { Failure } from '../dialects/failures/failure.ts'
import { makeSseDecoder } from '../dialects/sse/decode.ts'
import { isKept, toFailureAnswer, writeHead } from './answer.ts'
import type { AnswerHead, KeptErrors } from './answer.ts'
import type { AnswerRewrite, MakeStreamFilter, Relay, RelayedExchange } from './relay.ts'
import { RewrittenStream } from './rewritten-stream.ts'
import { TICKS_OF_SILENCE } from './stream-keep-alive.ts'
import type { SilentStream, StreamKeepAlive } from './stream-keep-alive.ts'
import { UntouchedStream } from './untouched-stream.ts'

type Needs = {
  /** The caller's dialect. */
  readonly dialect: Pick<DialectTraits, 'monitorStream' | 'failureAnswer'>
  /** The backend's dialect. */
  readonly backendDialect: Pick<DialectTraits, 'readErrorEvent' | 'reasoningRetry'>
  readonly rewrite: AnswerRewrite | null
  readonly filter: MakeStreamFilter | null
  readonly keepAlive: StreamKeepAlive
  readonly keepsErrors: KeptErrors
}

/** A first event that is larger than this is content and not an error. */
const MAX_HELD_BYTES = 64 * 1024

/**
 * Holds a stream back until its first event is there, because vendors report errors in it after a status of 200. The
 * head is sent with the first event, or when a keep-alive is due.
 */
export class StreamOpening implements Relay, SilentStream {
  readonly #exchange: RelayedExchange
  readonly #head: AnswerHead
  readonly #needs: Needs
  readonly #decoder = makeSseDecoder()
  readonly #keepAliveSlot: number
  #held: Buffer[] = []
  #heldBytes = 0
  #ticks = 0

  constructor(exchange: RelayedExchange, head: AnswerHead, needs: Needs) {
    this.#exchange = exchange
    this.#head = head
    this.#needs = needs
    this.#keepAliveSlot = needs.keepAlive.add(this)
  }

  take(chunk: Buffer): void {
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    const isContent = this.#held.length === 1 && isNoEvent(chunk)
    if (isContent || this.#heldBytes > MAX_HELD_BYTES) return void this.#start()
    const [first] = this.#decoder.push(chunk)
    if (!first) return
    const failure = this.#needs.backendDialect.readErrorEvent(first)
    if (!failure || !this.#stopsAt(failure, first.data)) this.#start()
  }

  end(): void {
    this.#start().end()
  }

  isComplete(): boolean {
    return false
  }

  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void {
    this.#start().cut(kind, failure, reason)
  }

  stop(): void {
    this.#held = []
    this.#needs.keepAlive.remove(this.#keepAliveSlot, this)
  }

  tick(): void {
    if (++this.#ticks >= TICKS_OF_SILENCE) this.#start()
  }

  #start(): Relay {
    const held = this.#held
    this.stop()
    const relay = startStreamRelay(this.#exchange, this.#head, this.#needs)
    this.#exchange.relayWith(relay)
    for (const chunk of held) if (!this.#exchange.isOver) relay.take(chunk)
    return relay
  }

  /** Whether the caller does not get this failure as a stream. */
  #stopsAt(failure: Failure, data: string): boolean {
    const { dialect, backendDialect, keepsErrors, rewrite } = this.#needs
    const isReasoningRefused = backendDialect.reasoningRetry?.isRefused(data) ?? false
    if (failure.kind === 'account') {
      this.#exchange.refuse(UNAUTHORIZED, new ApiError('upstream_refused_credential'))
    } else if (isKept(keepsErrors, isReasoningRefused)) {
      const answer = toFailureAnswer(dialect, failure)
      this.#exchange.keep({ head: this.#head, answer, headerOptions: rewrite, isReasoningRefused })
    } else return false
    this.#exchange.abort()
    return true
  }
}

/** Writes the head of a stream and starts to relay its events. */
function startStreamRelay(exchange: RelayedExchange, head: AnswerHead, needs: Needs): Relay {
  const { rewrite } = needs
  const { headers } = head
  const shown = rewrite ? { ...headers, 'content-type': 'text/event-stream; charset=utf-8' } : headers
  exchange.beginAnswer(head.status)
  writeHead(exchange.res, { status: head.status, headers: shown }, streamHeaders(headers['cache-control']), rewrite)
  exchange.res.flushHeaders()
  if (rewrite) return new RewrittenStream(exchange, rewrite, needs.keepAlive)
  // Without either header the answer ends when the connection closes, and a crash of the backend looks the same.
  const untilClosed = headers['transfer-encoding'] === undefined && headers['content-length'] === undefined
  const monitor = needs.dialect.monitorStream({ untilClosed })
  // A compressed stream cannot be read.
  const { 'content-encoding': encoding = 'identity' } = headers
  return new UntouchedStream(exchange, monitor, encoding === 'identity' ? (needs.filter?.() ?? null) : null)
}

function streamHeaders(cacheControl: string | undefined) {
  return { 'x-accel-buffering': 'no', ...(cacheControl === undefined && { 'cache-control': 'no-cache' }) }
}

/** Whether a first chunk cannot begin an event (WHATWG HTML, section 9.2.5): some streams are lines of JSON. */
function isNoEvent(chunk: Buffer): boolean {
  return chunk[0] === OPENING_BRACE
}

const OPENING_BRACE = 0x7b

/** The status for which such an event stands. */
const UNAUTHORIZED = 401
