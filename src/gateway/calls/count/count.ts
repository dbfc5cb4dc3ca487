import type { ServerResponse } from 'node:http'
import { GATEWAY_NAME } from '../../../kernel/backend-name.ts'
import type { Backend } from '../../backends/backend.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { estimateTokens } from '../../dialects/tokens/count-tokens.ts'
import type { Candidate } from '../../plan/candidate.ts'
import type { AdmittedCall } from '../admit.ts'
import type { Attempt } from '../attempt.ts'
import { recordEnd, recordStart } from '../record.ts'
import type { RecordNeeds } from '../record.ts'
import { toRefusedRequest } from '../request/refused-request.ts'
import { exactBodyOf } from '../request/request.ts'
import type { SendNeeds } from '../send-step.ts'
import type { TraceNeeds } from '../trace.ts'
import { attemptCount } from './count-attempt.ts'

type Needs = RecordNeeds & TraceNeeds & Pick<SendNeeds, 'backends' | 'sealSecrets'>

/** A request to count tokens. `writeCount` writes its answer. */
type CountCall = AdmittedCall & { readonly writeCount: (tokens: number) => Json }

/** Answers a request to count tokens. */
export type SendCount = (call: CountCall, candidates: readonly Candidate[]) => Promise<void>

/**
 * Makes the function that counts tokens where no backend of the model speaks the dialect of the request, or none of
 * those can be reached: by a backend of another dialect, or else with an estimate, which a header marks. It remembers
 * for each model which backends cannot count: a 404 is about the route, or about the model only. A count of a backend
 * is recorded as a call; an estimate is not, because no backend serves it.
 */
export function makeSendCount(needs: Needs): SendCount {
  /** The names of the models whose tokens a backend cannot count. */
  const unable = new WeakMap<Backend, ReadonlySet<string>>()

  return async (call, candidates) => {
    const attempts: Attempt[] = []
    const signal = signalOfClose(call.res)
    for (const candidate of candidates) {
      const backend = needs.backends.find(candidate.backend)
      if (!backend || !candidate.isReachable || candidate.isTripped) continue
      if (unable.get(backend)?.has(candidate.model)) continue
      const counted = await attemptCount(needs, call, { backend, candidate }, signal)
      if (!counted) continue
      const { attempt, tokens } = counted
      attempts.push(attempt)
      if (attempt.outcome.kind === 'left') return recordCount(needs, call, attempts, attempt)
      if (tokens === 'unable') unable.set(backend, new Set(unable.get(backend)).add(candidate.model))
      if (typeof tokens !== 'number') continue
      recordCount(needs, call, attempts, attempt)
      return send(call, tokens, { 'x-svc-served-by': backend.name })
    }
    sendEstimate(call)
  }
}

/** A signal that is aborted when the connection of the answer closes. */
function signalOfClose(res: ServerResponse): AbortSignal {
  const closing = new AbortController()
  if (res.closed) closing.abort()
  else res.once('close', () => closing.abort())
  return closing.signal
}

function sendEstimate(call: CountCall): void {
  const estimate = estimateTokens(call.admission.operation.dialect, exactBodyOf(call.req).body)
  if ('refused' in estimate) {
    const { param, message } = estimate.refused
    // The contract of counts has no code for a lost conversation.
    throw toRefusedRequest({ param, message })
  }
  send(call, estimate.inputTokens, { 'x-svc-served-by': GATEWAY_NAME, 'x-svc-estimated': '1' })
}

function recordCount(needs: Needs, call: AdmittedCall, attempts: readonly Attempt[], by: Attempt): void {
  const [first = by] = attempts
  recordStart(needs, call.admission, first.backend, first.sentAt)
  recordEnd(needs, call, attempts, by)
}

function send({ res, writeCount }: CountCall, tokens: number, headers: Readonly<Record<string, string>>): void {
  const answer = JSON.stringify(writeCount(tokens))
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer), ...headers })
  res.end(answer)
}
