import type { DialectTraits, StreamFailure, StreamFilter, StreamMonitor } from '../dialects/dialect.ts'
import type { StreamRewriter } from '../dialects/sse/rewrite.ts'
import { writeHead } from './answer.ts'
import type { AnswerHead } from './answer.ts'
import { ChunkWriter, hasUnread } from './chunk-writer.ts'
import { BACKEND_BROKE_OFF, breakConnection } from './relay.ts'
import type { AnswerRewrite, MakeStreamFilter, Relay, RelayedExchange } from './relay.ts'
import { TICKS_OF_SILENCE } from './stream-keep-alive.ts'
import type { SilentStream, StreamKeepAlive } from './stream-keep-alive.ts'

type Needs = {
  /** The caller's dialect. */
  readonly dialect: Pick<DialectTraits, 'monitorStream'>
  readonly rewrite: AnswerRewrite | null
  readonly filter: MakeStreamFilter | null
  readonly keepAlive: StreamKeepAlive
}

/**
 * How long a backend may take to end a stream whose last event the caller has got. Most end it at once, and their
 * connection can be used again.
 */
const MAX_TRAILER_MS = 250

/** Writes the head of a stream and starts to relay its events. */
export function startStreamRelay(exchange: RelayedExchange, head: AnswerHead, needs: Needs): Relay {
  const { rewrite } = needs
  const { headers } = head
  const shown = rewrite ? { ...headers, 'content-type': 'text/event-stream; charset=utf-8' } : headers
  exchange.beginAnswer(head.status)
  writeHead(exchange.res, { status: head.status, headers: shown }, streamHeaders(headers['cache-control']), rewrite)
  exchange.res.flushHeaders()
  if (rewrite) return new RewrittenStream(exchange, rewrite.stream(), needs.keepAlive)
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

/**
 * A stream whose bytes pass unchanged, but for events that a filter removes. A class, because thousands of these are
 * open at once.
 */
class UntouchedStream implements Relay {
  readonly #exchange: RelayedExchange
  readonly #monitor: StreamMonitor
  readonly #filter: StreamFilter | null
  readonly #writer: ChunkWriter

  constructor(exchange: RelayedExchange, monitor: StreamMonitor, filter: StreamFilter | null) {
    this.#exchange = exchange
    this.#monitor = monitor
    this.#filter = filter
    this.#writer = new ChunkWriter(exchange)
  }

  take(chunk: Buffer): void {
    this.#pass(this.#filter ? this.#filter.push(chunk) : chunk)
  }

  #pass(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#monitor.see(chunk)
    this.#writer.write(chunk)
  }

  end(): void {
    if (this.#filter) this.#pass(this.#filter.end())
    if (!this.#monitor.hasEnded()) return this.cut('cut', BACKEND_BROKE_OFF, 'ended_early')
    this.#exchange.res.end()
    this.#exchange.finish('whole', null)
  }

  isComplete(): boolean {
    return false
  }

  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void {
    const event = this.#monitor.failure(failure)
    if (event !== null) this.#exchange.res.write(event)
    this.#exchange.finish(kind, reason)
    breakConnection(this.#exchange.res)
  }

  stop(): void {
    this.#writer.stop()
  }
}

/** A stream that is rewritten event by event and kept alive while the backend is silent. */
class RewrittenStream implements Relay, SilentStream {
  /** Ends the call when the backend goes on after the caller's stream has ended. */
  #ending: NodeJS.Timeout | null = null
  readonly #exchange: RelayedExchange
  readonly #rewriter: StreamRewriter
  readonly #keepAlive: StreamKeepAlive
  readonly #keepAliveSlot: number
  readonly #writer: ChunkWriter
  #silentTicks = 0

  constructor(exchange: RelayedExchange, rewriter: StreamRewriter, keepAlive: StreamKeepAlive) {
    this.#exchange = exchange
    this.#rewriter = rewriter
    this.#keepAlive = keepAlive
    this.#writer = new ChunkWriter(exchange)
    this.#keepAliveSlot = keepAlive.add(this)
  }

  take(chunk: Buffer): void {
    this.#write(this.#rewriter.push(chunk))
    const state = this.#rewriter.state()
    if (state === 'ended') this.#ending ??= setTimeout(this.#endEarly, MAX_TRAILER_MS)
    if (state !== 'failed') return
    this.cut('cut', BACKEND_BROKE_OFF, 'said_so')
    this.#exchange.abort()
  }

  end(): void {
    this.#write(this.#rewriter.end())
    if (this.#rewriter.state() === 'failed') return this.cut('cut', BACKEND_BROKE_OFF, 'ended_early')
    this.#exchange.res.end()
    this.#exchange.finish('whole', null)
  }

  /** The caller has the whole answer, and the backend sends more than was asked for. */
  readonly #endEarly = (): void => {
    this.end()
    this.#exchange.abort()
  }

  isComplete(): boolean {
    return this.#rewriter.state() === 'ended'
  }

  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void {
    const events = this.#rewriter.fail(failure)
    if (events.length > 0) this.#exchange.res.write(events)
    this.#exchange.finish(kind, reason)
    breakConnection(this.#exchange.res)
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
    if (this.#rewriter.state() === 'open' && !hasUnread(res)) res.write(this.#rewriter.keepAlive())
  }

  #write(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#silentTicks = 0
    this.#writer.write(bytes)
  }
}
