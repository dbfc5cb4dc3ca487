import type { Registry } from 'prom-client'
import Gauge from 'prom-client/lib/gauge.js'
import { makeCounter, makeHistogram } from '../../http/telemetry/fast-metrics.ts'
import { teamOfBackend } from '../../kernel/backend-name.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import { makeBoundedLabels } from './bounded-labels.ts'
import type { CallEvent } from './events.ts'
import type { Loss } from './save-batch.ts'

/** Returns a function that counts each call that has ended: its outcome, its duration and its tokens. */
export function makeCallMetrics(registry: Registry, openStreams: () => number): (event: CallEvent) => void {
  new Gauge({
    name: 'svc_open_streams',
    help: 'Streams that callers have open.',
    registers: [registry],
    collect() {
      this.set(openStreams())
    },
  })
  const countCalls = makeCounter(registry, {
    name: 'svc_calls_total',
    help: 'Model calls that were sent to an upstream or to the local worker, by how they ended.',
    labelNames: ['served_by', 'dialect', 'outcome', 'status'],
  })
  const countAttempts = makeCounter(registry, {
    name: 'svc_call_attempts_total',
    help: 'Requests of model calls to backends, by backend and its status, or why it gave none.',
    labelNames: ['team', 'model', 'backend', 'result'],
  })
  const observeSeconds = makeHistogram(registry, {
    name: 'svc_call_seconds',
    help: 'From sending a model call to the end of its answer.',
    labelNames: ['served_by'],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
  })
  const observeFirstByteSeconds = makeHistogram(registry, {
    name: 'svc_call_first_byte_seconds',
    help: 'From sending a model call to the first byte of its answer.',
    labelNames: ['served_by'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  })
  const countTokens = makeCounter(registry, {
    name: 'svc_tokens_total',
    help: 'Tokens of model calls, as their answers reported them. Reasoning is a part of the output.',
    labelNames: ['team', 'model', 'served_by', 'kind'],
  })
  const countCost = makeCounter(registry, {
    name: 'svc_cost_usd_total',
    help: 'The cost of model calls in USD, by the configured prices.',
    labelNames: ['team', 'model', 'served_by'],
  })
  const bound = makeBoundedLabels()
  return ({ kind, call, result }) => {
    if (!result) return
    const { dialect } = call
    const servedBy = toLabel(call.servedBy)
    const [team, model] = bound(call.caller.team, call.model)
    const { attempts, outcome, status, durationMs, firstByteMs, usage, costNanoUsd } = result
    if (kind !== 'retried') {
      countCalls(1, servedBy, dialect, outcome, String(status ?? 'none'))
      for (const { backend, result: answer } of attempts) countAttempts(1, team, model, toLabel(backend), answer)
      observeSeconds(durationMs / 1000, servedBy)
      if (firstByteMs !== null) observeFirstByteSeconds(firstByteMs / 1000, servedBy)
    }
    for (const [label, of] of TOKEN_KINDS) if (usage[of]) countTokens(usage[of], team, model, servedBy, label)
    if (costNanoUsd) countCost(costNanoUsd / 1e9, team, model, servedBy)
  }
}

/**
 * The label of a backend. Those of teams' admins share one, because the operator does not decide how many there are,
 * and a metrics server keeps each value as a series.
 */
function toLabel(backend: string): string {
  return teamOfBackend(backend) === null ? backend : 'team-backend'
}

/** Returns a function that counts the calls that a spending limit refused. */
export function makeSpendingMetrics(registry: Registry): (refused: string) => void {
  const count = makeCounter(
    registry,
    {
      name: 'svc_spending_refusals_total',
      help: 'Model calls that a spending limit refused: it is used up, or its rest is reserved for running calls.',
      labelNames: ['reason'],
    },
    [['used_up'], ['reserved']],
  )
  return (refused) => count(1, refused)
}

/** Returns a function that counts usage events that are lost. */
export function makeLossMetrics(registry: Registry): (events: number, loss: Loss) => void {
  return makeCounter(
    registry,
    {
      name: 'svc_lost_call_events_total',
      help: 'Usage events that are lost: the database refused them, or they were dropped while it was unavailable.',
      labelNames: ['reason'],
    },
    [['refused'], ['dropped']],
  )
}

const TOKEN_KINDS = [
  ['input', 'inputTokens'],
  ['cache_read', 'cacheReadTokens'],
  ['cache_write', 'cacheWriteTokens'],
  ['cache_write_long', 'cacheWriteLongTokens'],
  ['output', 'outputTokens'],
  ['reasoning', 'reasoningTokens'],
] as const satisfies readonly (readonly [label: string, of: keyof Usage])[]
