import { putNewest } from '../../kernel/bounded-map.ts'
import type { Clock } from '../../kernel/clock.ts'
import { isFailure, isSuccess, REPORTED, resultOf } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import { afterAnswer, afterFailure, afterStart, afterSuccess, CLOSED, isTripped } from './breaker.ts'
import type { Breaker } from './breaker.ts'
import { openLearnedCaps } from './learned-caps.ts'
import type { LearnedCaps } from './learned-caps.ts'

/** What calls have found out about a backend, in this process. `model` is the model's name at the backend. */
export type Condition = {
  /** False after a failure to connect, until a connection works. */
  isReachable(): boolean
  /** A circuit breaker is open for calls of this model, so the other backends of a plan are asked first. */
  isTripped(model: string): boolean
  /** A call is about to be sent. Returns the time for `noteAnswer`. */
  noteStart(model: string): number
  /** The answer that the caller gets has begun. */
  noteAnswer(model: string, startedAt: number): void
  /** A call has ended. */
  noteEnd(model: string, outcome: Outcome): void
  /** The backend has answered 404 to a call that it should know: its path or the name of the model may be wrong. */
  noteNotFound(): void
  /** What its models accept, as far as answers have shown. */
  readonly learned: LearnedCaps
  show(): ShownCondition
  /** Stops the probes for good. */
  close(): void
}

export type ShownCondition = {
  /** Of the whole backend, not of its models. */
  readonly breaker: Breaker['kind']
  /**
   * The last failure: the backend's status, or why there was no answer. Null: none since the start. A 404 may be about
   * one request, so it is shown until a call succeeds.
   */
  readonly lastError: { readonly at: Date; readonly result: string } | null
}

type Needs = {
  /** Whether a connection can be made. Null: nothing is remembered, because the backend has probes of its own. */
  readonly canConnect: (() => Promise<boolean>) | null
  /** A random number from 0 to 1. */
  readonly random: () => number
  readonly clock: Clock
}

/** How long a failure to connect is remembered before a probe. */
const PROBE_EVERY_MS = 15_000

/** Vendors limit calls by model. */
const LIMITED = 429
const MAX_LIMITED_MODELS = 1000

/**
 * Watches a backend through its calls. A failure to connect is remembered, so that the next call does not wait for the
 * same timeout, and probes in the background find out when it is over.
 */
export function openCondition({ canConnect, random, clock }: Needs): Condition {
  let breaker = CLOSED
  /** The breakers of the models whose calls were limited. */
  const limited = new Map<string, Breaker>()
  let isReachable = true
  /** The next probe, or the one that runs now. */
  let timer: NodeJS.Timeout | null = null
  let isClosed = false
  let lastError: ShownCondition['lastError'] = null

  function noteUnreachable(): void {
    if (!canConnect || isClosed) return
    isReachable = false
    timer ??= setTimeout(() => void probe(canConnect), PROBE_EVERY_MS).unref()
  }

  async function probe(connect: () => Promise<boolean>): Promise<void> {
    const own = timer
    const works = await connect()
    // Meanwhile a call has reached the backend, or the backend was closed.
    if (timer !== own) return
    timer = null
    if (works) isReachable = true
    else noteUnreachable()
  }

  function noteReached(): void {
    isReachable = true
    if (timer) clearTimeout(timer)
    timer = null
  }

  /** Changes the breakers that decide about calls of a model. */
  function changeBreakers(model: string, change: (breaker: Breaker) => Breaker): void {
    breaker = change(breaker)
    const ofModel = limited.get(model)
    if (ofModel) limited.set(model, change(ofModel))
  }

  function noteFailure(model: string, status: number | null): void {
    const after = (before: Breaker) => afterFailure(before, performance.now(), random())
    if (status === LIMITED) putNewest(limited, model, after(limited.get(model) ?? CLOSED), MAX_LIMITED_MODELS)
    else breaker = after(breaker)
  }

  return {
    learned: openLearnedCaps(),
    isReachable: () => isReachable,
    isTripped(model) {
      const now = performance.now()
      return isTripped(breaker, now) || isTripped(limited.get(model) ?? CLOSED, now)
    },
    noteStart(model) {
      const now = performance.now()
      changeBreakers(model, (one) => afterStart(one, now))
      return now
    },
    noteAnswer(model, startedAt) {
      changeBreakers(model, (one) => afterAnswer(one, startedAt))
      if (!isReachable) noteReached()
    },
    noteEnd(model, outcome) {
      if (outcome.kind === 'unreachable') noteUnreachable()
      else if (outcome.status !== null && !isReachable) noteReached()
      if (isSuccess(outcome)) {
        changeBreakers(model, afterSuccess)
        if (lastError?.result === NOT_FOUND) lastError = null
      }
      if (!isBad(outcome)) return
      noteFailure(model, outcome.status)
      lastError = { at: clock.now(), result: resultOf(outcome) }
    },
    noteNotFound() {
      lastError = { at: clock.now(), result: NOT_FOUND }
    },
    show: () => ({ breaker: breaker.kind, lastError }),
    close() {
      // Running calls may still fail after this.
      isClosed = true
      if (timer) clearTimeout(timer)
      timer = null
    },
  }
}

/** Whether the backend failed or was busy. Errors about one request or one model say nothing about the next call. */
function isBad(outcome: Outcome): boolean {
  const { status, reason, refusal } = outcome
  // What a backend reports in a stream may be about this request.
  if (reason === REPORTED) return false
  if (isFailure(outcome) || refusal?.code === 'upstream_refused_credential') return true
  return status === LIMITED || (status !== null && status >= 500 && status !== NOT_IMPLEMENTED)
}

const NOT_FOUND = '404'
const NOT_IMPLEMENTED = 501
