import type { ServerResponse } from 'node:http'
import type { BackendKind } from '../backends/table.ts'
import { resultOf } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import { writeAttempts } from '../usage/events.ts'
import type { TriedBackend } from '../usage/events.ts'
import type { Observed } from './answer-observer.ts'

/** One request of a call to a backend: how it ended, and what the answer has reported of itself. */
export type Attempt = Observed & {
  readonly backend: string
  readonly backendKind: BackendKind
  /** The model's name there. */
  readonly model: string
  readonly sentAt: Date
  readonly outcome: Outcome
}

/** An attempt as events and headers name it. */
export function toTried({ backend, outcome }: Attempt): TriedBackend {
  return { backend, result: resultOf(outcome) }
}

/** Writes to which backends a call was sent into the head of its answer. */
export function nameAttempts(res: ServerResponse, tried: readonly TriedBackend[]): void {
  res.setHeader('x-svc-attempts', writeAttempts(tried))
}
