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
  const countCalls = cheapCounter(registry, {
    name: 'svc_calls_total',
    help: 'Model calls that were sent to an upstream or to the local worker, by how they ended.',
    labelNames: ['served_by', 'style', 'outcome', 'status'],
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
  const countTokens = cheapCounter(registry, {
    name: 'svc_tokens_total',
    help: 'Tokens of model calls, as their answers said. Cached tokens are a part of the input.',
    labelNames: ['model', 'served_by', 'kind'],
  })
  return ({ call, result }) => {
    if (!result) return
    const { model, style, servedBy } = call
    const { outcome, status, durationMs, firstByteMs, usage } = result
    countCalls(1, servedBy, style, outcome, String(status ?? 'none'))
    seconds.observe({ served_by: servedBy }, durationMs / 1000)
    if (firstByteMs !== null) firstByte.observe({ served_by: servedBy }, firstByteMs / 1000)
    const { inputTokens, outputTokens, cachedTokens } = usage
    if (inputTokens) countTokens(inputTokens, model, servedBy, 'input')
    if (outputTokens) countTokens(outputTokens, model, servedBy, 'output')
    if (cachedTokens) countTokens(cachedTokens, model, servedBy, 'cached')
  }
}

type Counted = { readonly name: string; readonly help: string; readonly labelNames: readonly string[] }

/** A counter that costs a look into a map; the registry's own is filled when somebody asks. */
function cheapCounter(registry: Registry, counted: Counted): (by: number, ...labels: readonly string[]) => void {
  const counts = new Map<string, { readonly labels: readonly string[]; count: number }>()
  new Counter({
    ...counted,
    registers: [registry],
    collect() {
      this.reset()
      for (const { labels, count } of counts.values()) this.labels(...labels).inc(count)
    },
  })
  return (by, ...labels) => {
    const key = labels.join('\n')
    const known = counts.get(key)
    if (known) known.count += by
    else counts.set(key, { labels, count: by })
  }
}
