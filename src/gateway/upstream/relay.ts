import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toCallerHeaders } from './headers.ts'
import { TICKS_OF_SILENCE } from './keep-alive.ts'
import type { KeepAlive, Quiet } from './keep-alive.ts'
import { isFull, onceDrained, writePiece } from './pieces.ts'
import { NOT_WANTED, reasonOf, send, toNoAnswer } from './send.ts'
import type { NoAnswer, UpstreamCall } from './send.ts'
import type { Dialect, StreamFailure as Failure, StreamMonitor } from '../dialects/dialect.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import type { StreamRewriter } from '../dialects/sse/rewrite.ts'
import type { Target } from './targets.ts'

export type RelayOptions = {
  readonly style: Dialect
  /** The caller asked for a stream: an answer of a type that nobody knows is then handed on as it comes. */
  readonly wantsStream: boolean
  readonly clock: Clock
  /** Sees the bytes of the answer as the upstream sent them. */
  readonly tap?: (chunk: Buffer) => void
  /** Changes the answer on its way; without it bytes pass untouched. */
  readonly rewrite?: Rewrite | null
  /** Keeps a stream alive that is rewritten; its rewrite says by which words. */
  readonly keepAlive?: KeepAlive | null
}

export type Rewrite = {
  /** One for each stream. */
  stream(): StreamRewriter
  /** What the caller gets for this whole answer. An `ApiError`: the answer is none, and the handler says so. */
  whole(answer: WholeAnswer): WholeAnswer | ApiError
}

export type WholeAnswer = {
  readonly status: number
  readonly body: Buffer
  /** Where it is another than the upstream's. */
  readonly contentType?: string
}

/**
 * How a call ended. `whole`: the answer has been handed on; `cut`: it broke in the middle, and so did the caller's connection; `left`: the
 * caller went away, or takes nothing any more; `ended`: this side ended it; `refused`: the answer cannot be handed on. The others say
 * why there is no answer.
 */
export type Outcome = {
  readonly kind: 'whole' | 'cut' | 'left' | 'ended' | 'refused' | NoAnswer
  /** True: the caller has got at least the head of an answer, so nothing else can be answered. */
  readonly answered: boolean
  readonly status: number | null
  /** From sending the call to the first byte of the answer's body. */
  readonly firstByteMs: number | null
  /** Of the answer's body, as the upstream sent it. */
  readonly bytes: number
  /** A word for the log. */
  readonly reason: string | null
  /** With `refused`: what to answer instead. */
  readonly refusal: ApiError | null
}

export type Relay = {
  /** Never rejects. */
  readonly outcome: Promise<Outcome>
  /** Ends the call from this side; a stream is told why, where it can be. */
  end(why: Failure): void
}

/** A JSON answer up to this size leaves in one piece; a larger one passes through. */
const HOLD_BYTES = 1024 * 1024

/** A piece up to this size fits into the buffers of a connection, whether anybody reads it or not. */
const UNREAD_BYTES = 16 * 1024

/** An answer that is changed must be held whole. */
const HOLD_TO_CHANGE_BYTES = 64 * 1024 * 1024

const BROKE_OFF: Failure = {
  code: 'upstream_failed',
  type: 'api_error',
  message: 'The upstream broke off in the middle of its answer.',
}
const FELL_SILENT: Failure = {
  code: 'upstream_timeout',
  type: 'api_error',
  message: 'The upstream fell silent in the middle of its answer.',
}

/**
 * Sends a call to a target and hands its answer back on `res`, beside the headers that are set there: a stream chunk by chunk as it comes,
 * any other answer in one piece. When either side leaves, the other is closed: at once, in every phase. A caller whose connection takes no
 * byte for as long as the target may be silent counts as one that has left. Before the first byte to the caller a failure is only
 * reported, so that the handler can answer; after it the caller's connection breaks, because no later byte can take the status back,
 * and a clean end would read as success.
 */
export function relay(target: Target, call: UpstreamCall, res: ServerResponse, options: RelayOptions): Relay {
  const relaying = new Relaying(res, target.idleTimeoutMs, options)
  if (!relaying.over) send(target, call, relaying)
  return relaying
}

/** A class, because thousands of these are open at once and closures would cost each of them several kilobytes. */
class Relaying implements Relay, Quiet, Dispatcher.DispatchHandler {
  readonly outcome: Promise<Outcome>
  over = false

  readonly #res: ServerResponse
  readonly #idleTimeoutMs: number
  readonly #options: RelayOptions
  readonly #sentAt: number
  #settle: (outcome: Outcome) => void = () => {}
  #controller: Dispatcher.DispatchController | null = null
  #status: number | null = null
  #head: IncomingHttpHeaders = {}
  #firstByteMs: number | null = null
  #bytes = 0
  /** The chunks that are held back for one piece; null once the answer passes through. */
  #held: Buffer[] | null = []
  #answered = false
  /** For the caller to read. */
  #isWaiting = false
  #isTimed = false
  #watch: StreamMonitor | null = null
  #changer: StreamRewriter | null = null
  #silentTicks = 0
  #refusal: ApiError | null = null

  constructor(res: ServerResponse, idleTimeoutMs: number, options: RelayOptions) {
    this.#res = res
    this.#idleTimeoutMs = idleTimeoutMs
    this.#options = options
    this.#sentAt = options.clock.now().getTime()
    this.outcome = new Promise((resolve) => (this.#settle = resolve))
    res.on('close', this.#callerLeft)
    if (res.destroyed || res.closed) this.#callerLeft()
  }

  end(why: Failure): void {
    if (this.over) return
    if (this.#answered) this.#cut('ended', why, why.code)
    else this.#finish('ended', why.code)
    this.#controller?.abort(NOT_WANTED)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Thrown here, undici drops the call unsent and keeps the connection.
    if (this.over) throw NOT_WANTED
    this.#controller = controller
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (this.over || status < 200) return
    this.#status = status
    this.#head = headers
    const encoded = !['', 'identity'].includes(headers['content-encoding'] ?? '')
    if (encoded && this.#options.rewrite) throw new Unchangeable('compressed')
    if (this.#isStream(status, headers['content-type'])) this.#startStream(status, headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.over) return
    this.#firstByteMs ??= this.#options.clock.now().getTime() - this.#sentAt
    this.#bytes += chunk.length
    this.#options.tap?.(chunk)
    if (this.#held) return this.#hold(this.#held, chunk, controller)
    if (!this.#changer) return this.#pass(chunk, controller)
    this.#pass(this.#changer.push(chunk), controller)
    if (this.#changer.state() !== 'failed') return
    this.#cut('cut', BROKE_OFF, 'said_so')
    controller.abort(NOT_WANTED)
  }

  onResponseEnd(): void {
    if (this.over) return
    if (this.#held) return this.#answerWhole(this.#held)
    if (this.#changer) this.#pass(this.#changer.end(), null)
    const isWhole = this.#changer ? this.#changer.state() !== 'failed' : this.#watch?.hasEnded()
    if (isWhole === false) return this.#cut('cut', BROKE_OFF, 'ended_early')
    this.#endWell()
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.over) return
    const kind = toNoAnswer(error)
    if (!this.#answered) this.#finish(kind, reasonOf(error))
    else if (this.#changer?.state() === 'ended') this.#endWell()
    else this.#cut('cut', kind === 'timeout' ? FELL_SILENT : BROKE_OFF, reasonOf(error))
  }

  tick(): void {
    if (++this.#silentTicks < TICKS_OF_SILENCE) return
    this.#silentTicks = 0
    // A caller that reads slowly has enough to read.
    if (this.#changer?.state() === 'open' && !isFull(this.#res)) this.#res.write(this.#changer.keepAlive())
  }

  #endWell(): void {
    this.#res.end()
    this.#finish('whole', null)
  }

  /** What a client asked for decides where the type of an answer does not: vendors' streams come under several types, errors as JSON. */
  #isStream(status: number, contentType = ''): boolean {
    if (contentType.startsWith('text/event-stream')) return true
    return this.#options.wantsStream && status < 300 && !contentType.startsWith('application/json')
  }

  #startStream(status: number, headers: IncomingHttpHeaders): void {
    this.#held = null
    // Without either header only the closing of the connection says that the answer is over, and a crash looks the same.
    const untilClosed = headers['transfer-encoding'] === undefined && headers['content-length'] === undefined
    this.#watch = DIALECTS[this.#options.style].monitorStream({ untilClosed })
    this.#changer = this.#options.rewrite?.stream() ?? null
    if (this.#changer) {
      this.#head = { ...headers, 'content-type': 'text/event-stream; charset=utf-8' }
      this.#options.keepAlive?.add(this)
    }
    this.#writeHead(status, {
      'x-accel-buffering': 'no',
      ...(headers['cache-control'] === undefined && { 'cache-control': 'no-cache' }),
    })
    // The first byte may be minutes away.
    this.#res.flushHeaders()
  }

  #hold(held: Buffer[], chunk: Buffer, controller: Dispatcher.DispatchController): void {
    held.push(chunk)
    const limit = this.#options.rewrite ? HOLD_TO_CHANGE_BYTES : HOLD_BYTES
    if (this.#bytes <= limit) return
    if (this.#options.rewrite) throw new Unchangeable('too_large')
    this.#held = null
    this.#writeHead(this.#status ?? 502, lengthOf(this.#head))
    this.#res.flushHeaders()
    for (const one of held) this.#pass(one, controller)
  }

  #pass(chunk: Buffer, controller: Dispatcher.DispatchController | null): void {
    if (chunk.length === 0) return
    this.#silentTicks = 0
    this.#watch?.see(chunk)
    if (writePiece(this.#res, chunk) || this.#isWaiting) return
    this.#isWaiting = true
    controller?.pause()
    onceDrained(this.#res, this.#drained)
    this.#timeReader()
  }

  /**
   * From here to the end of the answer, the connection's own timer sees to it that bytes which wait for the caller go out. The caller may
   * be slow: Node starts the timer anew when some of them have gone. Begun once and not at each chunk; most calls never need it.
   */
  #timeReader(): void {
    if (this.#isTimed) return
    this.#isTimed = true
    this.#res.setTimeout(this.#idleTimeoutMs).on('timeout', this.#unread)
  }

  readonly #unread = (): void => {
    // Nothing waits for the caller: it is the target that is silent.
    if (!isFull(this.#res)) return
    this.#finish('left', 'unread')
    this.#controller?.abort(NOT_WANTED)
    this.#res.destroy()
  }

  #answerWhole(held: Buffer[]): void {
    const whole = held.length === 1 && held[0] ? held[0] : Buffer.concat(held)
    const came: WholeAnswer = { status: this.#status ?? 502, body: whole }
    const answer = this.#options.rewrite ? this.#options.rewrite.whole(came) : came
    if (answer instanceof ApiError) {
      this.#refusal = answer
      return this.#finish('refused', answer.code)
    }
    const { status, body, contentType } = answer
    if (contentType !== undefined) this.#head = { ...this.#head, 'content-type': contentType }
    this.#writeHead(status, status === 204 || status === 304 ? {} : { 'content-length': body.length })
    if (body.length > UNREAD_BYTES) {
      this.#res.end(body)
      this.#timeReader()
    } else {
      // Node sends the head and a string in one piece, bytes in a second one; as Latin-1 every byte stays what it is.
      this.#res.end(body.toString('latin1'), 'latin1')
    }
    this.#finish('whole', null)
  }

  #writeHead(status: number, more: OutgoingHttpHeaders): void {
    this.#res.writeHead(status, { ...toCallerHeaders(this.#head, this.#res), ...more })
    this.#answered = true
  }

  readonly #drained = (): void => {
    this.#isWaiting = false
    if (!this.over) this.#controller?.resume()
  }

  readonly #callerLeft = (): void => {
    if (this.over) return
    this.#finish('left', null)
    this.#controller?.abort(NOT_WANTED)
  }

  /** Tells a stream of the failure where it can be told, lets what was written arrive, and closes without the end that HTTP asks for. */
  #cut(kind: 'cut' | 'ended', failure: Failure, reason: string): void {
    const event = this.#changer ? this.#changer.fail(failure) : this.#watch?.failure(failure)
    if (event && event.length > 0) this.#res.write(event)
    this.#finish(kind, reason)
    if (this.#res.socket) this.#res.socket.destroySoon()
    else this.#res.destroy()
  }

  #finish(kind: Outcome['kind'], reason: string | null): void {
    this.over = true
    this.#res.off('close', this.#callerLeft)
    // Without a listener, the timer closes a connection on which the rest of an answer stays unread.
    this.#res.off('timeout', this.#unread)
    if (this.#changer) this.#options.keepAlive?.remove(this)
    this.#held = null
    this.#settle({
      kind,
      answered: this.#answered,
      status: this.#status,
      firstByteMs: this.#firstByteMs,
      bytes: this.#bytes,
      reason,
      refusal: this.#refusal,
    })
  }
}

/** An answer that has to be changed and cannot be. Thrown to undici, which then drops the call and reports it like any other failure. */
class Unchangeable extends Error {
  readonly code: string

  constructor(code: 'compressed' | 'too_large') {
    super(`The answer cannot be changed: ${code}.`)
    this.code = code
  }
}

/** The upstream's own length, which lets a client see a cut. */
function lengthOf({ 'content-length': length }: IncomingHttpHeaders): OutgoingHttpHeaders {
  return length === undefined ? {} : { 'content-length': length }
}
