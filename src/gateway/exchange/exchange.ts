import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Dispatcher, Pool } from 'undici'
import { CountedBody } from '../../http/body-budget.ts'
import { ApiError } from '../../http/errors.ts'
import { msBetween } from '../../kernel/clock.ts'
import { hasCode } from '../../kernel/error-code.ts'
import type { StreamFailure } from '../dialects/dialect.ts'
import { isCompressed } from './answer.ts'
import type { AnswerHead, KeptAnswer } from './answer.ts'
import { NO_ROOM, UNAUTHORIZED } from './outcome.ts'
import type { Outcome, RelayEnd } from './outcome.ts'
import { MEMORY_FULL, SERVICE_STOPPED } from './stream-failures.ts'
import type { ExchangeOptions, Relay, RelayedExchange } from './relay.ts'
import { readHead } from './read-head.ts'
import { withReleasedBody } from './released-body.ts'
import { NOT_NEEDED, reasonOf, toNoAnswerAfterSending } from './send.ts'
import type { BackendRequest } from './send.ts'
import { StreamOpening } from './stream-opening.ts'
import { explain, keepCompressedError, toBreak, UnreadableAnswer } from './unreadable-answer.ts'
import { isWebPage, WholeRelay } from './whole-relay.ts'

/** The backend that a request is sent to. */
export type Connection = {
  readonly pool: Pool
  /** A call ends when the backend sends no byte for this long, or its caller takes none. */
  readonly idleTimeoutMs: number
}

/** A call that has been sent. */
export type Exchange = {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>
  /**
   * Ends the call from this side. The caller of a stream gets the reason where the stream can still carry it. A caller
   * that has the whole answer does not notice.
   */
  end(why: StreamFailure): void
}

/**
 * Sends a request to a backend and relays the answer to the caller through `res`, besides the headers that are set
 * there. A stream is relayed chunk by chunk, any other answer in one write. When the caller or the backend disconnects,
 * the other connection is closed at once, in every phase.
 *
 * Before the first byte to the caller, a failure is only reported in the outcome, so that the call can still be
 * answered. After it, the status cannot be changed any more. The caller's connection is then broken, because a regular
 * end would look like success, unless its dialect reports a failure with the last event of a stream.
 */
export function startExchange(
  { pool, idleTimeoutMs }: Connection,
  request: BackendRequest,
  res: ServerResponse,
  options: ExchangeOptions,
): Exchange {
  const exchange = new OpenExchange(res, idleTimeoutMs, options)
  if (!exchange.isOver) pool.dispatch(withReleasedBody(request), exchange)
  return exchange
}

type Finish = Pick<Outcome, 'kind' | 'reason' | 'refusal' | 'kept'>

/** The error for a caller that has no byte yet. The gateway ends calls on overload, or of callers without access. */
function toRefusal({ kind, message }: StreamFailure): ApiError {
  if (kind !== 'overloaded') return new ApiError('unauthorized')
  return new ApiError('service_unavailable', { message, retryAfterSeconds: RETRY_AFTER_SECONDS })
}

/** Short: after a stop another process takes the call, and answers that fill the memory end within seconds. */
const RETRY_AFTER_SECONDS = 1

/** The maximum that is held in memory of one answer. */
const MAX_HELD_BYTES = 64 * 1024 * 1024

/** A class, because thousands of these are open at once and closures would cost each of them several kilobytes. */
class OpenExchange implements Exchange, RelayedExchange, Dispatcher.DispatchHandler {
  readonly outcome: Promise<Outcome>
  readonly res: ServerResponse
  readonly idleTimeoutMs: number
  isOver = false

  readonly #options: ExchangeOptions
  readonly #counted: CountedBody
  readonly #sentAt: Date
  #settle: (outcome: Outcome) => void = () => {}
  #controller: Dispatcher.DispatchController | null = null
  /** Null until the backend has answered. */
  #relay: Relay | null = null
  #status: number | null = null
  #firstByteMs: number | null = null
  #bytes = 0

  constructor(res: ServerResponse, idleTimeoutMs: number, options: ExchangeOptions) {
    this.res = res
    this.idleTimeoutMs = idleTimeoutMs
    this.#options = options
    this.#counted = new CountedBody(options.budget, res)
    this.#sentAt = options.clock.now()
    this.outcome = new Promise((resolve) => (this.#settle = resolve))
    res.on('close', this.#onCallerLeft)
    if (res.destroyed || res.closed) this.#onCallerLeft()
  }

  end(why: StreamFailure, reason = why.code): void {
    if (this.isOver) return
    if (this.#relay?.isComplete()) this.#relay.end()
    else if (this.#relay && this.res.headersSent) this.#relay.cut('ended', why, reason)
    else this.#finish({ kind: 'ended', reason, refusal: toRefusal(why), kept: null })
    this.abort()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // When this throws, undici drops the request unsent and keeps the connection.
    if (this.isOver) throw NOT_NEEDED
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // A status below 200 is interim: the final head follows (RFC 9110, section 15.2).
    if (this.isOver || status < 200) return
    this.#status = status
    const head = readHead(status, headers, this.#options.clock.now())
    const isReadable = !this.#options.rewrite || !isCompressed(head)
    if (isReadable) this.#relay = this.#chooseRelay(head)
    else if (status >= 400) keepCompressedError(this, head, this.#options)
    else throw new UnreadableAnswer('compressed')
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return
    this.#firstByteMs ??= msBetween(this.#sentAt, this.#options.clock.now())
    this.#bytes += chunk.length
    this.#options.observer.push(chunk)
    this.#relay?.take(chunk)
    this.#countHeld()
  }

  #countHeld(): void {
    if (this.isOver || !this.#relay) return
    const bytes = this.#relay.heldBytes()
    if (bytes > MAX_HELD_BYTES) throw new UnreadableAnswer('too_large')
    if (!this.#counted.resize(bytes)) this.end(MEMORY_FULL, NO_ROOM)
  }

  onResponseEnd(): void {
    if (!this.isOver) this.#relay?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.isOver) return
    // The connection broke after the last event, so the answer is complete.
    if (this.#relay?.isComplete()) return this.#relay.end()
    // Only this service closes its own connections: calls are still running when SVC_STOP_SECONDS are over.
    if (hasCode(error, 'UND_ERR_DESTROYED')) return this.end(SERVICE_STOPPED)
    const kind = this.#controller ? toNoAnswerAfterSending(error) : 'unreachable'
    const code = this.#options.failureCodes[kind]
    if (!this.#relay || !this.res.headersSent) this.#finish({ kind, ...explain(error, code), kept: null })
    else this.#relay.cut('cut', toBreak(kind, error), reasonOf(error))
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  abort(): void {
    this.#controller?.abort(NOT_NEEDED)
  }

  beginAnswer(status: number): void {
    this.#options.onAnswer(status)
  }

  relayWith(relay: Relay): void {
    this.#relay = relay
  }

  keep(kept: KeptAnswer): void {
    // A stream that begins with an error has the status 200.
    if (kept.head.status < 400) this.#status = kept.answer.status
    this.#finish({ kind: 'whole', reason: null, refusal: null, kept })
  }

  refuse(refusal: ApiError): void {
    const isAccountRefused = refusal.code === 'upstream_refused_credential'
    // An answer of 200 can refuse the service's account too.
    if (isAccountRefused && this.#status !== null && this.#status < 400) this.#status = UNAUTHORIZED
    this.#finish({ kind: 'refused', reason: refusal.code, refusal, kept: null })
  }

  finish(kind: RelayEnd, reason: string | null): void {
    this.#finish({ kind, reason, refusal: null, kept: null })
  }

  #finish(how: Finish): void {
    this.isOver = true
    this.res.off('close', this.#onCallerLeft)
    this.#relay?.stop()
    // These bytes are dropped now. Otherwise they would count until the response to the caller closes.
    if (!this.res.headersSent) this.#counted.resize(how.kept?.answer.body.length ?? 0)
    this.#settle({
      ...how,
      answered: this.res.headersSent,
      isSent: this.#controller !== null,
      status: this.#status,
      firstByteMs: this.#firstByteMs,
      bytes: this.#bytes,
    })
  }

  #chooseRelay(head: AnswerHead): Relay {
    const { wantsStream, rewrite } = this.#options
    const isStream = this.#isStream(head.status, head.headers['content-type'])
    // A stream that the caller did not ask for may be collected into one whole answer.
    const collect = isStream && !wantsStream ? rewrite?.collect : null
    if (isStream && !collect) return new StreamOpening(this, head, this.#options)
    return new WholeRelay(this, head, this.#options, collect?.() ?? null)
  }

  /**
   * Where the content type does not decide, the caller's request does: vendors send streams with several content types,
   * and errors as JSON. An error is never a stream, so that it can be read before it is handed on. Nor is an answer
   * that can have no body (204, 304): the bytes after its head would belong to the next answer of the connection.
   */
  #isStream(status: number, contentType = ''): boolean {
    if (status >= 300 || status === 204 || isWebPage(contentType)) return false
    if (/^text\/event-stream/i.test(contentType)) return true
    return this.#options.wantsStream && !contentType.startsWith('application/json')
  }

  readonly #onCallerLeft = (): void => {
    if (this.isOver) return
    // Some clients close the connection after the last event, before the backend has ended its answer.
    if (this.res.headersSent && this.#relay?.isComplete()) this.#relay.end()
    else this.finish('left', null)
    this.abort()
  }
}
