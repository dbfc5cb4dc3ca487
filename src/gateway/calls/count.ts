import type { ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import { GATEWAY_NAME } from '../../kernel/backend-name.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Backend } from '../backends/backend.ts'
import type { Backends } from '../backends/backends.ts'
import { estimateTokens } from '../dialects/count-tokens.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { parseObject } from '../dialects/json/read-json.ts'
import { sendAndWait } from '../exchange/send.ts'
import { toStep } from '../plan/plan.ts'
import type { Candidate } from '../plan/plan.ts'
import type { Admission } from './admit.ts'
import { prepareCount } from './prepare.ts'
import { exactBodyOf } from './request.ts'
import type { CallRequest } from './request.ts'

type Needs = { readonly backends: Backends; readonly clock: Clock }

/** Answers a request to count tokens. */
export type SendCount = (
  admission: Admission,
  candidates: readonly Candidate[],
  req: CallRequest,
  res: ServerResponse,
) => Promise<void>

/** Agents count before they send, so a count that takes longer is not worth waiting for. */
const LIMITS = { timeoutMs: 5_000, maxBytes: 64 * 1024 }

/**
 * Makes the function that counts tokens where no backend of the model speaks the dialect of the request: by a backend
 * of another dialect, or else with an estimate, which a header marks. It remembers the backends that cannot count.
 */
export function makeSendCount(needs: Needs): SendCount {
  const unable = new WeakSet<Backend>()

  return async (admission, candidates, req, res) => {
    for (const candidate of candidates) {
      const backend = needs.backends.find(candidate.backend)
      if (!backend || !candidate.isReachable || candidate.isTripped || unable.has(backend)) continue
      const count = await countAt(needs, admission, backend, candidate, req)
      if (typeof count === 'number') return send(res, count, { 'x-svc-served-by': backend.name })
      if (count === 'unable') unable.add(backend)
    }
    sendEstimate(req, res)
  }
}

function sendEstimate(req: CallRequest, res: ServerResponse): void {
  const estimate = estimateTokens(exactBodyOf(req))
  if ('refused' in estimate) {
    const { param, message } = estimate.refused
    throw new ApiError('invalid_request', { message: `${param}: ${message}` })
  }
  send(res, estimate.inputTokens, { 'x-svc-served-by': GATEWAY_NAME, 'x-svc-estimated': '1' })
}

/** `unable`: the backend counts no request. `failed`: it did not count this one. */
async function countAt(
  { clock }: Needs,
  { operation, model, calledAs, caller: { team } }: Admission,
  backend: Backend,
  candidate: Candidate,
  req: CallRequest,
): Promise<number | 'unable' | 'failed'> {
  const dialect = candidate.dialects.find((one) => DIALECTS[one].tokenCount)
  if (!dialect) return 'failed'
  const step = toStep({ ...candidate, dialect })
  const facts = { operation, model, calledAs, team, step, backend, mayBeTranslated: false, traceHeaders: [], clock }
  const request = prepareCount(facts, req)
  if (!request || request instanceof ApiError) return 'failed'
  const reply = await sendAndWait(backend.pool, request, LIMITS)
  if (reply.kind !== 'answered') return 'failed'
  const answer = reply.status === 200 ? parseObject(reply.body.toString()) : null
  return DIALECTS[dialect].tokenCount?.read(answer ?? {}) ?? (UNABLE.has(reply.status) ? 'unable' : 'failed')
}

/** How servers without such a route answer. Some answer 200 to any path. */
const UNABLE: ReadonlySet<number> = new Set([200, 404, 405, 501])

function send(res: ServerResponse, tokens: number, headers: Readonly<Record<string, string>>): void {
  const answer = JSON.stringify({ input_tokens: tokens })
  res.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(answer), ...headers })
  res.end(answer)
}
