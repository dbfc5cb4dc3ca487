/**
 * The spans of model calls, by the conventions of OpenTelemetry for generative AI: one for the call, which the caller
 * sees as a server span, and one for each attempt. They never contain prompts, answers, addresses or credentials.
 */
import type { ClientSpan, ServerSpan, SpanAttributes, TracedBackends, Tracer } from '../../kernel/tracer.ts'
import type { Backend } from '../backends/backend.ts'
import type { AnswerMetadata } from '../dialects/passing/metadata-scanner.ts'
import type { Usage } from '../dialects/tokens/usage.ts'
import { isSuccess, resultOf } from '../exchange/outcome.ts'
import type { Outcome } from '../exchange/outcome.ts'
import type { BackendRequest } from '../exchange/send.ts'
import type { Step } from '../plan/plan.ts'
import type { Admission } from './admit.ts'
import type { Attempt } from './attempt.ts'
import type { Operation } from './operations.ts'
import type { CallRequest } from './request/request.ts'

export type TraceNeeds = {
  /** Null: calls are not traced. */
  readonly tracer: Tracer | null
  readonly tracedBackends: TracedBackends
}

/** Starts the span of a call that was admitted. It ends with the request. */
export function startCallSpan(tracer: Tracer, admission: Admission, { headers }: CallRequest): ServerSpan {
  const { operation, model, caller, sessionId } = admission
  const attributes = {
    'gen_ai.operation.name': operation.name,
    'gen_ai.request.model': model.id,
    'gen_ai.conversation.id': sessionId,
    'svc.team': caller.team,
    'svc.dialect': operation.dialect,
  }
  return tracer.startServerSpan({ name: `${operation.name} ${model.id}`, attributes }, headers)
}

/** An attempt that is about to be sent. */
type Sent = {
  readonly operation: Operation
  readonly backend: Backend
  readonly step: Step
  readonly request: BackendRequest
}

/**
 * `span` must be ended with `endAttemptSpan`; null: calls are not traced. `request` has the headers of the trace.
 */
type TracedAttempt = { readonly span: ClientSpan | null; readonly request: BackendRequest }

/** Starts the span of an attempt, and names the trace in its request. */
export function traceAttempt({ tracedBackends }: TraceNeeds, sent: Sent, req: CallRequest): TracedAttempt {
  const { request, backend } = sent
  const span = req.span ? startAttemptSpan(req.span, sent) : null
  const headers = toTraceHeaders(tracedBackends, backend, span, req)
  return { span, request: headers.length > 0 ? { ...request, headers: [...request.headers, ...headers] } : request }
}

function startAttemptSpan(call: ServerSpan, { operation: { name }, backend, step: { model, dialect } }: Sent) {
  return call.startClientSpan({
    name: `${name} ${model}`,
    attributes: {
      'gen_ai.operation.name': name,
      'gen_ai.provider.name': backend.name,
      'gen_ai.request.model': model,
      'svc.backend': backend.name,
      'svc.dialect': dialect,
    },
  })
}

/** Ends the span of an attempt. */
export function endAttemptSpan(span: ClientSpan, { outcome, usage, metadata }: Attempt): void {
  span.set({ ...toOutcomeAttributes(outcome), ...toUsageAttributes(usage), ...toMetadataAttributes(metadata) })
  if (!isSuccess(outcome)) span.fail(outcome.kind === 'whole' ? resultOf(outcome) : outcome.kind)
  span.end()
}

/** Adds to the span of a call how it ended: with the attempt whose answer the caller gets, or with the last one. */
export function describeCallEnd(
  span: ServerSpan,
  { backend, outcome, usage, metadata }: Attempt,
  { attempts, costNanoUsd }: { readonly attempts: number; readonly costNanoUsd: number | null },
): void {
  span.set({
    'gen_ai.provider.name': backend,
    'svc.backend': backend,
    'svc.attempts': attempts,
    'svc.cost_usd': costNanoUsd === null ? null : costNanoUsd / 1e9,
    ...toUsageAttributes(usage),
    ...toMetadataAttributes(metadata),
  })
  // The status of the answer fails the span where the conventions for HTTP want it, which is from 500 on.
  if (outcome.kind !== 'whole') span.fail(outcome.kind)
}

/**
 * The headers of a request to a backend that name its trace: that of the span, or the caller's own where this service
 * creates no spans.
 */
function toTraceHeaders(
  traced: TracedBackends,
  { traits }: Backend,
  span: ClientSpan | null,
  { headers }: Pick<CallRequest, 'headers'>,
): readonly string[] {
  if (traced === 'none' || (traced === 'local' && !traits.isLocal)) return []
  if (span) return span.headers
  return TRACE_HEADERS.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [name, value] : []
  })
}

const TRACE_HEADERS = ['traceparent', 'tracestate'] as const

function toOutcomeAttributes({ status, firstByteMs }: Outcome): SpanAttributes {
  return { 'http.response.status_code': status, 'svc.first_byte_ms': firstByteMs }
}

/** Null where the answer does not say it. */
function toMetadataAttributes(metadata: AnswerMetadata | null): SpanAttributes {
  const { model = null, finishReasons = [] } = metadata ?? {}
  return {
    'gen_ai.response.model': model,
    'gen_ai.response.finish_reasons': finishReasons.length > 0 ? finishReasons : null,
  }
}

/** The input includes what was read from a cache or written to one, as the conventions want it. */
function toUsageAttributes(usage: Usage): SpanAttributes {
  const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens, reasoningTokens } = usage
  const written = sum(cacheWriteTokens, cacheWriteLongTokens)
  return {
    'gen_ai.usage.input_tokens': sum(inputTokens, cacheReadTokens, written),
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': written,
    'gen_ai.usage.reasoning.output_tokens': reasoningTokens,
  }
}

/** Null when none of them is known. */
function sum(...counts: readonly (number | null)[]): number | null {
  const known = counts.filter((count) => count !== null)
  return known.length === 0 ? null : known.reduce((total, count) => total + count, 0)
}
