/**
 * What is told of model calls: that one has started, and how it ended. Never what was asked or answered. A call that was refused before it was sent to
 * anybody is in the request log alone. The start is an event of its own, so that who follows a session sees a call while it runs; only calls
 * that belong to a session have one.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Outcome } from '../upstream/relay.ts'
import type { Dialect as Style } from '../dialects/dialect.ts'
import type { TargetName } from '../upstream/targets.ts'
import { scanUsage } from '../dialects/usage-scanner.ts'
import type { Usage, UsageScanner } from '../dialects/usage-scanner.ts'

export type CallFacts = {
  readonly requestId: string
  readonly caller: Caller
  /** One run of an agent; null when the client did not name it. */
  readonly sessionId: string | null
  readonly style: Style
  /** The service model id. */
  readonly model: string
  readonly servedBy: TargetName
}

export type CallResult = {
  readonly outcome: Outcome['kind']
  /** Of the one who served; null when it did not answer. */
  readonly status: number | null
  readonly firstByteMs: number | null
  readonly durationMs: number
  readonly usage: Usage
}

/** `finished`: a whole answer that is no error. `failed`: anything else, the caller's leaving included; `outcome` and `status` say what. */
export type CallEvent =
  | { readonly kind: 'started'; readonly at: Date; readonly call: CallFacts; readonly result: null }
  | { readonly kind: 'finished' | 'failed'; readonly at: Date; readonly call: CallFacts; readonly result: CallResult }

/** Events that are saved together, under a name of their own: when it is not known whether they were, they may come again. */
export type EventBatch = { readonly id: string; readonly events: readonly CallEvent[] }

/** A call under way. */
export type NotedCall = {
  /** Sees the bytes of the answer as they were sent by the one who serves. */
  readonly tap: (chunk: Buffer) => void
  /** Tells of the end; called once. */
  end(outcome: Pick<Outcome, 'kind' | 'status' | 'firstByteMs'>): void
}

/** Takes notice of a call that is about to be sent. */
export type NoteCall = (call: CallFacts) => NotedCall

type Needs = {
  readonly clock: Clock
  /** Must not wait and must not throw: it runs where calls do. */
  readonly record: (event: CallEvent) => void
}

/** Makes the events of calls. */
export function noteCalls(needs: Needs): NoteCall {
  return (call) => new Noted(needs, call)
}

/** A class, because thousands of these are open at once. */
class Noted implements NotedCall {
  readonly #needs: Needs
  readonly #call: CallFacts
  readonly #startedAt: Date
  readonly #scanner: UsageScanner = scanUsage()

  constructor(needs: Needs, call: CallFacts) {
    this.#needs = needs
    this.#call = call
    this.#startedAt = needs.clock.now()
    if (call.sessionId !== null) needs.record({ kind: 'started', at: this.#startedAt, call, result: null })
  }

  readonly tap = (chunk: Buffer): void => this.#scanner.push(chunk)

  end({ kind: outcome, status, firstByteMs }: Pick<Outcome, 'kind' | 'status' | 'firstByteMs'>): void {
    const at = this.#needs.clock.now()
    const durationMs = at.getTime() - this.#startedAt.getTime()
    const result = { outcome, status, firstByteMs, durationMs, usage: this.#scanner.end() }
    const isFinished = outcome === 'whole' && status !== null && status < 400
    this.#needs.record({ kind: isFinished ? 'finished' : 'failed', at, call: this.#call, result })
  }
}

/** Ours wins; the others are what the clients of the three styles send by themselves. */
const SESSION_HEADERS = ['x-svc-session-id', 'session-id', 'x-claude-code-session-id', 'x-session-id'] as const

/** The run of an agent that a call belongs to, as its client names it; null when it does not, or not in up to 256 visible ASCII characters. */
export function sessionIdOf(headers: IncomingHttpHeaders): string | null {
  for (const name of SESSION_HEADERS) {
    const value = headers[name]
    if (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value)) return value
  }
  return null
}
