import type { SnapshotModel } from '../../directory/snapshot.ts'
import { ApiError } from '../../http/errors.ts'
import type { Clock } from '../../kernel/clock.ts'
import { newIdentifier } from '../../kernel/identifier.ts'
import type { Backend } from '../backends/backend.ts'
import { toBackendPath } from '../backends/table.ts'
import { clampTokens } from '../backends/token-limits.ts'
import { DIALECTS } from '../dialects/dialects.ts'
import { scanTopLevel, setMembers } from '../dialects/json/edit-json.ts'
import type { TopLevel } from '../dialects/json/edit-json.ts'
import { mayLoseDigits, parseExactly } from '../dialects/json/read-json.ts'
import type { Json } from '../dialects/json/read-json.ts'
import { translateCall } from '../dialects/translate.ts'
import type { Translation } from '../dialects/translate.ts'
import { toBackendHeaders } from '../exchange/headers.ts'
import type { HeaderList, HeaderOptions } from '../exchange/headers.ts'
import type { AnswerRewrite, MakeStreamFilter } from '../exchange/relay.ts'
import type { BackendRequest } from '../exchange/send.ts'
import type { Step } from '../plan/plan.ts'
import { renameAnswers, translateAnswers } from './answer-rewrite.ts'
import type { Operation } from './operations.ts'
import { bytesOf, exactBodyOf, locatedOf, sessionIdOf } from './request.ts'
import type { CallRequest } from './request.ts'
import { sealsFor } from './seals.ts'
import { askForUsage } from './stream-usage.ts'

export type PreparedCall = {
  readonly request: BackendRequest & { readonly body: Buffer }
  /** Null: the answer passes untouched. */
  readonly rewrite: AnswerRewrite | null
  /** Removes events of a stream that passes otherwise untouched; null: all of them pass. */
  readonly filter: MakeStreamFilter | null
}

export type StepNeeds = {
  readonly operation: Operation
  readonly model: SnapshotModel
  /** The name that answers give the model. */
  readonly calledAs: string
  /** The team of the caller: `@organization/name`. */
  readonly team: string
  readonly step: Step
  readonly backend: Backend
  /** The conversation may hold reasoning that was translated. */
  readonly mayBeTranslated: boolean
  readonly clock: Clock
}

/**
 * The request of one step of a plan, and what its answer becomes. An `ApiError` names what this backend cannot be
 * asked.
 */
export function prepareCall(needs: StepNeeds, req: CallRequest): PreparedCall | ApiError {
  const { operation, step } = needs
  return step.dialect === operation.dialect ? prepareUnchanged(needs, req) : prepareTranslated(needs, req)
}

/** In the caller's dialect: the caller's bytes but for the model's name, token limits, and a wish for usage. */
function prepareUnchanged(needs: StepNeeds, req: CallRequest): PreparedCall {
  const { operation, model, calledAs, step, backend, mayBeTranslated } = needs
  const { isRenamed, refusesLocalReasoning } = backend.traits
  const answered = { operation, backend, model: calledAs, backendModel: step.model }
  const { hasLocalReasoning, withoutLocalReasoning } = DIALECTS[operation.dialect]
  const isCleaned = mayBeTranslated && refusesLocalReasoning && hasLocalReasoning(req.body)
  const bytes = isCleaned ? withoutLocalReasoning(bytesOf(req)) : bytesOf(req)
  const limits = backend.maxTokens === null ? {} : clampTokens(req.body, backend.maxTokens)
  const wish = askForUsage(operation, model, req.body)
  const changes = { model: step.model, ...limits, ...wish?.changes }
  const isChanged = req.body.model !== step.model || Object.keys(changes).length > 1
  return {
    request: {
      method: 'POST',
      path: toBackendPath(backend.prefix, operation.path, req.originalUrl),
      headers: toHeaders(needs, req, { isTranslated: false }),
      body: isChanged ? withChanges(bytes, changes, isCleaned ? scanTopLevel(bytes) : locatedOf(req)) : bytes,
    },
    rewrite: isRenamed ? renameAnswers({ ...answered, hidesUsage: wish !== null }) : null,
    filter: isRenamed ? null : (wish?.makeFilter ?? null),
  }
}

/** The same bytes with these members set to other values. `located` must have those of them that are there. */
function withChanges(bytes: Buffer, changes: Json, located: TopLevel | null): Buffer {
  const changed = setMembers(bytes, changes, located)
  if (!changed) throw new Error('The body of a call is not a JSON object.')
  return changed
}

/** The request that only counts the tokens of a call; null: backends of this dialect are not asked to count. */
export function prepareCount(needs: StepNeeds, req: CallRequest): BackendRequest | ApiError | null {
  const { step, backend } = needs
  const { tokenCount } = DIALECTS[step.dialect]
  const translation = tokenCount && translateFor(needs, req)
  if (!translation || translation instanceof ApiError) return translation
  return {
    method: 'POST',
    path: backend.prefix + tokenCount.path,
    headers: [...toHeaders(needs, req, { isTranslated: true }), ...Object.entries(translation.headers).flat()],
    body: Buffer.from(JSON.stringify(tokenCount.toRequest(translation.request))),
  }
}

/** In another dialect than the caller's. Nothing of the query goes along: it belongs to the caller's dialect. */
function prepareTranslated(needs: StepNeeds, req: CallRequest): PreparedCall | ApiError {
  const { operation, calledAs, step, backend } = needs
  const translation = translateFor(needs, req)
  if (translation instanceof ApiError) return translation
  return {
    request: {
      method: 'POST',
      path: backend.prefix + DIALECTS[step.dialect].path,
      headers: [...toHeaders(needs, req, { isTranslated: true }), ...Object.entries(translation.headers).flat()],
      body: Buffer.from(JSON.stringify(clamped(translation.request, backend))),
    },
    filter: null,
    rewrite: translateAnswers({ operation, backend, model: calledAs, backendModel: step.model }, translation.answer),
  }
}

function translateFor(needs: StepNeeds, req: CallRequest): Translation | ApiError {
  const { operation, model, calledAs, team, step, backend, clock } = needs
  const text = bytesOf(req).toString('utf8')
  const body = (mayLoseDigits(text) ? parseExactly(text) : null) ?? exactBodyOf(req)
  const translation = translateCall(operation.dialect, step.dialect, body, {
    model: calledAs,
    backendModel: step.model,
    newId: newIdentifier,
    createdAt: Math.floor(clock.now().getTime() / 1000),
    isCodex: operation.isCodex ?? false,
    sessionId: sessionIdOf(req.headers),
    caps: model.caps,
    ...(backend.traits.isSealed && { seals: sealsFor(backend, step, team) }),
  })
  if ('refused' in translation) {
    const { param, message } = translation.refused
    return new ApiError('invalid_request', { message: `${param}: ${message}` })
  }
  return translation
}

function clamped(request: Json, { maxTokens }: Backend): Json {
  return maxTokens === null ? request : { ...request, ...clampTokens(request, maxTokens) }
}

function toHeaders({ backend }: StepNeeds, req: CallRequest, options: HeaderOptions): HeaderList {
  const { credential, traits } = backend
  const headers = toBackendHeaders(req.rawHeaders, credential, options)
  if (traits.closesAfterStream && req.body.stream === true) headers.push('connection', 'close')
  return headers
}
