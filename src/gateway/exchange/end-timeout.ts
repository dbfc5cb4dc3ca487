import type { StreamState } from '../dialects/dialect.ts'
import { hasUnread } from './chunk-writer.ts'
import type { Relay, RelayedExchange } from './relay.ts'

/**
 * How long a backend may take to end a stream after its last event. Most end it at once, and their connection can be
 * used again.
 */
const MAX_TRAILER_MS = 250

/**
 * How long a backend may be silent between the end of its answer and its usage. Some send neither a last event nor the
 * end of the stream, but comments for as long as the caller waits.
 */
const MAX_FINISHING_MS = 3000

/** Ends a call whose answer is complete, when its backend does not end it in time. */
export class EndTimeout {
  readonly #exchange: Pick<RelayedExchange, 'abort' | 'res'>
  readonly #relay: Pick<Relay, 'end'>
  #state: StreamState = 'open'
  #timer: NodeJS.Timeout | null = null

  constructor(exchange: Pick<RelayedExchange, 'abort' | 'res'>, relay: Pick<Relay, 'end'>) {
    this.#exchange = exchange
    this.#relay = relay
  }

  /** Notes the state of the stream after a chunk, and whether the chunk has completed an event. */
  note(state: StreamState, hasEvents: boolean): void {
    if (state === 'finishing' && hasEvents) this.#endWithin(MAX_FINISHING_MS)
    if (state === 'ended' && this.#state !== 'ended') this.#endWithin(MAX_TRAILER_MS)
    // The answer has gone on after its reason to end.
    if (state === 'open') this.stop()
    this.#state = state
  }

  stop(): void {
    if (this.#timer) clearTimeout(this.#timer)
  }

  #endWithin(ms: number): void {
    this.stop()
    this.#timer = setTimeout(() => {
      // The backend is paused, so its silence says nothing.
      if (hasUnread(this.#exchange.res)) return this.#endWithin(ms)
      this.#relay.end()
      this.#exchange.abort()
    }, ms)
  }
}
