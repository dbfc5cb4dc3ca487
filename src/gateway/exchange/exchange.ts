import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import type { Dispatcher, Pool } from 'undici'
import type { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { DialectTraits, StreamFailure } from '../dialects/dialect.ts'
import type { Outcome } from './outcome.ts'
import { BACKEND_BROKE_OFF, BACKEND_WAS_SILENT, UnreadableAnswer } from './relay.ts'
import type { AnswerHead, AnswerRewrite, Relay, RelayedExchange } from './relay.ts'
import { NOT_NEEDED, reasonOf, toNoAnswer } from './send.ts'
import type { BackendRequest } from './send.ts'
import type { StreamKeepAlive } from './stream-keep-alive.ts'
import { startStreamRelay } from './stream-relay.ts'
import { WholeRelay } from './whole-relay.ts'

/** Where a request goes. */
export type Connection = {
  readonly pool: Pool
  /** A call ends when the backend sends no byte for this long, or its caller takes none. */
  readonly idleTimeoutMs: number
}

export type ExchangeOptions = {
  /** The caller's dialect: a stream tells of a failure in it. */
  readonly dialect: Pick<DialectTraits, 'monitorStream'>
  /** The caller asked for a stream: an answer of an unknown type is then handed on as it comes. */
  readonly wantsStream: boolean
  /** Changes the answer on its way; null: its bytes pass untouched. */
  readonly rewrite: AnswerRewrite | null
  /** Keeps streams alive that are rewritten. */
  readonly keepAlive: StreamKeepAlive
  /** Sees the bytes of the answer as the backend sent them. */
  readonly observer: { push(chunk: Buffer): void }
  readonly clock: Clock
}

/** A call that has been sent. */
export type Exchange = {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>
  /** Ends the call from this side; the caller of a stream is told why, where that is possible. */
  end(why: StreamFailure): void
}

/**
 * Sends a request to a backend and hands the answer on through `res`, beside the headers that are set there: a stream
 * chunk by chunk as it comes, any other answer in one write. When the caller or the backend leaves, the other
 * connection is closed at once, in every phase.
 *
 * Before the first byte to the caller, a failure is only reported in the outcome, so that the call can still be
 * answered. After it, the caller's connection is broken: no later byte can take the status back, and a clean end would
 * read as success.
 */
export function startExchange(
  { pool, idleTimeoutMs }: Connection,
  request: BackendRequest,
  res: ServerResponse,
  options: ExchangeOptions,
): Exchange {
  const exchange = new OpenExchange(res, idleTimeoutMs, options)
  if (!exchange.isOver) pool.dispatch(request, exchange)
  return exchange
}

/** A class, because thousands of these are open at once and closures would cost each of them several kilobytes. */
class OpenExchange implements Exchange, RelayedExchange, Dispatcher.DispatchHandler {
  readonly outcome: Promise<Outcome>
  readonly res: ServerResponse
  readonly idleTimeoutMs: number
  isOver = false

  readonly #options: ExchangeOptions
  readonly #sentAt: number
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
    this.#sentAt = options.clock.now().getTime()
    this.outcome = new Promise((resolve) => (this.#settle = resolve))
    res.on('close', this.#onCallerLeft)
    if (res.destroyed || res.closed) this.#onCallerLeft()
  }

  end(why: StreamFailure): void {
    if (this.isOver) return
    if (this.#relay && this.res.headersSent) this.#relay.cut('ended', why, why.code)
    else this.finish('ended', why.code)
    this.abort()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // When this throws, undici drops the request unsent and keeps the connection.
    if (this.isOver) throw NOT_NEEDED
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // A status below 200 announces another head.
    if (this.isOver || status < 200) return
    this.#status = status
    this.#relay = this.#chooseRelay({ status, headers })
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return
    this.#firstByteMs ??= this.#options.clock.now().getTime() - this.#sentAt
    this.#bytes += chunk.length
    this.#options.observer.push(chunk)
    this.#relay?.take(chunk)
  }

  onResponseEnd(): void {
    if (!this.isOver) this.#relay?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.isOver) return
    const kind = toNoAnswer(error)
    if (!this.#relay || !this.res.headersSent) return this.finish(kind, reasonOf(error))
    // The connection broke behind the last event.
    if (this.#relay.isComplete()) return this.#relay.end()
    this.#relay.cut('cut', kind === 'timeout' ? BACKEND_WAS_SILENT : BACKEND_BROKE_OFF, reasonOf(error))
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

  finish(kind: Outcome['kind'], reason: string | null, refusal: ApiError | null = null): void {
    this.isOver = true
    this.res.off('close', this.#onCallerLeft)
    this.#relay?.stop()
    this.#settle({
      kind,
      answered: this.res.headersSent,
      status: this.#status,
      firstByteMs: this.#firstByteMs,
      bytes: this.#bytes,
      reason,
      refusal,
    })
  }

  #chooseRelay(head: AnswerHead): Relay {
    const { rewrite } = this.#options
    const { 'content-encoding': encoding = '', 'content-type': type } = head.headers
    if (rewrite && encoding !== '' && encoding !== 'identity') throw new UnreadableAnswer('compressed')
    if (this.#isStream(head.status, type)) return startStreamRelay(this, head, this.#options)
    return new WholeRelay(this, head, rewrite)
  }

  /**
   * Where the type does not tell, the caller's wish decides: vendors send streams under several types, and errors as
   * JSON. An error is never a stream, so that it can be read before it is handed on.
   */
  #isStream(status: number, contentType = ''): boolean {
    if (status >= 400) return false
    if (contentType.startsWith('text/event-stream')) return true
    return this.#options.wantsStream && status < 300 && !contentType.startsWith('application/json')
  }

  readonly #onCallerLeft = (): void => {
    if (this.isOver) return
    this.finish('left', null)
    this.abort()
  }
}
