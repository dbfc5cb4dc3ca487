import { Gauge } from 'prom-client'
import type { Registry } from 'prom-client'
import { makeCounter, makeHistogram } from '../../http/call-histograms.ts'
import type { CallEvent } from './events.ts'

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
    labelNames: ['backend', 'result'],
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
    help: 'Tokens of model calls, as their answers reported them. Cached tokens are part of the input.',
    labelNames: ['model', 'served_by', 'kind'],
  })
  return ({ call, result }) => {
    if (!result) return
    const { model, dialect, servedBy } = call
    const { attempts, outcome, status, durationMs, firstByteMs, usage } = result
    countCalls(1, servedBy, dialect, outcome, String(status ?? 'none'))
    for (const { backend, result: answer } of attempts) countAttempts(1, backend, answer)
    observeSeconds(durationMs / 1000, servedBy)
    if (firstByteMs !== null) observeFirstByteSeconds(firstByteMs / 1000, servedBy)
    const { inputTokens, outputTokens, cachedTokens } = usage
    if (inputTokens) countTokens(inputTokens, model, servedBy, 'input')
    if (outputTokens) countTokens(outputTokens, model, servedBy, 'output')
    if (cachedTokens) countTokens(cachedTokens, model, servedBy, 'cached')
  }
}
