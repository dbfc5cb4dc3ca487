import { Counter, Gauge, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { CallEvent } from './events.ts'

/** Counts how calls ended, how long they took and the tokens that they used. */
export function callMetrics(registry: Registry, openStreams: () => number): (event: CallEvent) => void {
  const registers = [registry]
  new Gauge({
    name: 'svc_open_streams',
    help: 'Streams that callers have open.',
    registers,
    collect() {
      this.set(openStreams())
    },
  })
  const calls = new Counter({
    name: 'svc_calls_total',
    help: 'Model calls that were sent to an upstream or to the local worker, by how they ended.',
    labelNames: ['served_by', 'style', 'outcome', 'status'],
    registers,
  })
  const seconds = new Histogram({
    name: 'svc_call_seconds',
    help: 'From sending a model call to the end of its answer.',
    labelNames: ['served_by'],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600],
    registers,
  })
  const firstByte = new Histogram({
    name: 'svc_call_first_byte_seconds',
    help: 'From sending a model call to the first byte of its answer.',
    labelNames: ['served_by'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  })
  const tokens = new Counter({
    name: 'svc_tokens_total',
    help: 'Tokens of model calls, as their answers said. Cached tokens are a part of the input.',
    labelNames: ['model', 'served_by', 'kind'],
    registers,
  })
  return ({ call, result }) => {
    if (!result) return
    const { model, style, servedBy: served_by } = call
    const { outcome, status, durationMs, firstByteMs, usage } = result
    calls.inc({ served_by, style, outcome, status: status ?? 'none' })
    seconds.observe({ served_by }, durationMs / 1000)
    if (firstByteMs !== null) firstByte.observe({ served_by }, firstByteMs / 1000)
    const { inputTokens, outputTokens, cachedTokens } = usage
    if (inputTokens) tokens.inc({ model, served_by, kind: 'input' }, inputTokens)
    if (outputTokens) tokens.inc({ model, served_by, kind: 'output' }, outputTokens)
    if (cachedTokens) tokens.inc({ model, served_by, kind: 'cached' }, cachedTokens)
  }
}
