import type { DialectTraits, StreamFailure, StreamFilter, StreamMonitor } from '../dialects/dialect.ts'
import { ChunkWriter } from './chunk-writer.ts'
import { REPORTED } from './outcome.ts'
import { BACKEND_BROKE_OFF, endFailed } from './stream-failures.ts'
import type { Relay, RelayedExchange } from './relay.ts'

type Needs = {
  readonly dialect: Pick<DialectTraits, 'failureEndsStream'>
  readonly monitor: StreamMonitor
  readonly filter: StreamFilter | null
}

/**
 * A stream whose bytes pass unchanged, but for events that a filter removes. A class, because thousands of these are
 * open at once.
 */
export class UntouchedStream implements Relay {
  readonly #exchange: RelayedExchange
  readonly #monitor: StreamMonitor
  readonly #filter: StreamFilter | null
  readonly #failureEndsStream: boolean
  readonly #writer: ChunkWriter

  constructor(exchange: RelayedExchange, { dialect, monitor, filter }: Needs) {
    this.#exchange = exchange
    this.#monitor = monitor
    this.#filter = filter
    this.#failureEndsStream = dialect.failureEndsStream
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
    const hasFailed = this.#monitor.hasFailed()
    if (!hasFailed && !this.#monitor.hasEnded()) return this.cut('cut', BACKEND_BROKE_OFF, 'ended_early')
    this.#exchange.res.end()
    this.#exchange.finish(hasFailed ? 'cut' : 'whole', hasFailed ? REPORTED : null)
  }

  isComplete(): boolean {
    return this.#monitor.isComplete()
  }

  heldBytes(): number {
    return 0
  }

  cut(kind: 'cut' | 'ended', failure: StreamFailure, reason: string): void {
    const event = this.#monitor.failure(failure)
    if (event !== null) this.#exchange.res.write(event)
    this.#exchange.finish(kind, reason)
    endFailed(this.#exchange.res, this.#failureEndsStream && event !== null)
  }

  stop(): void {
    this.#writer.stop()
  }
}
