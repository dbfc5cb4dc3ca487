/** A step in the caller's dialect: the caller's bytes reach the backend with few changes, and so does its answer. */
import { toDialectPath } from '../../backends/table.ts'
import { clampTokens } from '../../backends/token-limits.ts'
import { DEFAULT_CAPS } from '../../dialects/caps.ts'
import type { StreamFilter } from '../../dialects/dialect.ts'
import { DIALECTS } from '../../dialects/dialects.ts'
import { scanTopLevel, setMembers } from '../../dialects/json/edit-json.ts'
import type { TopLevel } from '../../dialects/json/edit-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { renameAnswer } from '../../dialects/passing/rename-model.ts'
import { toJsonAnswer } from '../../exchange/answer.ts'
import type { AnswerRewrite } from '../../exchange/relay.ts'
import { locateMembers } from '../request/decisive-members.ts'
import type { ParsedBody } from '../request/parse-body.ts'
import { parsedOf } from '../request/request.ts'
import type { CallRequest } from '../request/request.ts'
import { refuseOtherShape, relayError, showError } from './answer-errors.ts'
import { capsOf, toStepHeaders, toStepRequest, undoUnchosenEffort } from './prepared-call.ts'
import type { CallStep, PreparedCall } from './prepared-call.ts'

/**
 * Makes the request of a step in the caller's dialect. It changes the model's name and token limits, asks for usage,
 * removes an effort that Codex added, and removes what a vendor refuses because it did not sign it
 * (`dialects/unsigned-content.ts`). It also changes what the model would refuse by its `caps` (`toAcceptedRequest`).
 */
export function prepareSameDialect(call: CallStep, req: CallRequest): PreparedCall {
  const { operation } = call.admission
  const { isRenamed } = call.backend.traits
  const caps = capsOf(call)
  const dialect = DIALECTS[operation.dialect]
  const usage = askForUsage(call, req.body, caps.streamUsage)
  const body = changeBody(call, req, usage?.changes ?? {})
  return {
    request: toStepRequest(call, {
      path: toDialectPath(operation.path),
      callerUrl: req.originalUrl,
      headers: toStepHeaders(call, req, caps, null),
      body: dialect.toAcceptedRequest(body, req.body, caps),
    }),
    rewrite: isRenamed
      ? renameAnswers(call, { hidesUsage: usage !== null, refersBack: dialect.needsStoredState(req.body) })
      : null,
    filter: isRenamed ? null : (usage?.filter ?? null),
  }
}

/**
 * The caller's bytes with the changes that this step needs; the same bytes where it needs none. `usage`: the members
 * that ask for the usage.
 */
function changeBody(call: CallStep, req: CallRequest, usage: Json): Buffer {
  const { admission, step, backend } = call
  const { body } = req
  const parsed = parsedOf(req)
  const { withoutUnsignedContent } = DIALECTS[admission.operation.dialect]
  const bytes = backend.traits.refusesUnsignedContent ? withoutUnsignedContent(parsed.bytes, body) : parsed.bytes
  const limits = backend.maxTokens === null ? {} : clampTokens(body, backend.maxTokens)
  const changes = { model: step.model, ...limits, ...usage, ...undoUnchosenEffort(call, body) }
  if (body.model === step.model && Object.keys(changes).length === 1) return bytes
  const changed = setMembers(bytes, changes, bytes === parsed.bytes ? locate(parsed, changes) : scanTopLevel(bytes))
  if (!changed) throw new Error('The body of a call is not a JSON object.')
  return changed
}

/**
 * The request for the usage of a stream. `changes`: members of the request with new values. `filter`: removes the usage
 * from the stream.
 */
type UsageRequest = { readonly changes: Json; readonly filter: StreamFilter }

/**
 * What makes a stream report its usage; null when it does so already, or the model's backend cannot be asked. `known`:
 * whether it can, where that is known of the model.
 */
function askForUsage({ admission }: CallStep, body: Json, known?: boolean): UsageRequest | null {
  const { operation, wantsStream } = admission
  const { streamUsage } = DIALECTS[operation.dialect]
  const isSupported = known ?? DEFAULT_CAPS[operation.dialect].streamUsage
  if (!streamUsage || !isSupported || !wantsStream) return null
  const changes = streamUsage.ask(body)
  return changes && { changes, filter: streamUsage.makeFilter() }
}

/** Where the members to change are. Reasoning is not a decisive member, because hardly any call needs its position. */
function locate({ shortened, located }: ParsedBody, changes: Json): TopLevel | null {
  return 'reasoning' in changes ? locateMembers(shortened, Object.keys(changes)) : located
}

/** `refersBack`: the request names an earlier answer, so a 404 may be about that. */
type Renaming = { readonly hidesUsage: boolean; readonly refersBack: boolean }

/** The answer names the model as the caller did, and a stream that breaks off never looks complete. */
function renameAnswers(call: CallStep, { hidesUsage, refersBack }: Renaming): AnswerRewrite {
  const { operation, calledAs } = call.admission
  const dialect = DIALECTS[operation.dialect]
  return {
    stream: () => dialect.passStream({ model: calledAs, hidesUsage }),
    whole(answer) {
      if (answer.status === 404 && refersBack) return showError(dialect, answer)
      if (answer.status >= 300) return relayError(call, dialect, answer)
      const body = renameAnswer(answer.body, calledAs, operation.isAnswer)
      return body ? toJsonAnswer({ status: answer.status, body }) : refuseOtherShape(call, dialect, answer)
    },
    collect: null,
  }
}
