/** A step in another dialect than the caller's: the request is translated, and the answer is translated back. */
import { ApiError } from '../../../http/errors.ts'
import { newIdentifier } from '../../../kernel/identifier.ts'
import type { Backend } from '../../backends/backend.ts'
import { clampTokens } from '../../backends/token-limits.ts'
import { DIALECTS } from '../../dialects/dialects.ts'
import { writeWithTexts } from '../../dialects/json/long-texts.ts'
import type { LongTexts } from '../../dialects/json/long-texts.ts'
import { parseExactly } from '../../dialects/json/read-json.ts'
import type { Json } from '../../dialects/json/read-json.ts'
import { makeSseDecoder } from '../../dialects/sse/decode.ts'
import { translateCall } from '../../dialects/translate.ts'
import type { AnswerTranslation, Translation } from '../../dialects/translate.ts'
import { toFailureAnswer, toJsonAnswer, toStreamAnswer } from '../../exchange/answer.ts'
import type { WholeAnswer } from '../../exchange/answer.ts'
import type { HeaderList } from '../../exchange/headers.ts'
import type { AnswerRewrite } from '../../exchange/relay.ts'
import type { BackendRequest } from '../../exchange/send.ts'
import { toRefusedRequest } from '../request/refused-request.ts'
import { exactBodyOf } from '../request/request.ts'
import type { CallRequest } from '../request/request.ts'
import { failureOf, relayError, writeMisreported } from './answer-errors.ts'
import { capsOf, toStepHeaders, toStepRequest, undoUnchosenEffort } from './prepared-call.ts'
import type { CallStep, PreparedCall } from './prepared-call.ts'
import { sealsFor } from './seals.ts'

/**
 * Makes the translated request of a step. An `ApiError` names what this backend cannot be asked. Nothing of the query
 * goes along, because it belongs to the caller's dialect.
 */
export function prepareTranslated(call: CallStep, req: CallRequest): PreparedCall | ApiError {
  const { step, backend } = call
  const translation = translateFor(call, req)
  if (translation instanceof ApiError) return translation
  return {
    request: toStepRequest(call, {
      path: DIALECTS[step.dialect].path,
      callerUrl: null,
      headers: translation.headers,
      body: writeWithTexts(clamped(translation.request, backend), translation.texts),
    }),
    filter: null,
    rewrite: translateAnswers(call, translation.answer),
  }
}

/** The request that only counts the tokens of a call; null: backends of this dialect are not asked to count. */
export function prepareCount(call: CallStep, req: CallRequest): BackendRequest | ApiError | null {
  const { tokenCount } = DIALECTS[call.step.dialect]
  const translation = tokenCount && translateFor(call, req)
  if (!translation || translation instanceof ApiError) return translation
  const counted = Object.entries(translation.request).filter(([name]) => tokenCount.members.includes(name))
  return toStepRequest(call, {
    path: tokenCount.path,
    callerUrl: null,
    headers: translation.headers,
    body: writeWithTexts(Object.fromEntries(counted), translation.texts),
  })
}

/** A translation, with all headers of the request and the long texts of the caller's. */
type StepTranslation = Omit<Translation, 'headers'> & { readonly headers: HeaderList; readonly texts: LongTexts }

function translateFor(call: CallStep, req: CallRequest): StepTranslation | ApiError {
  const { admission, step, backend, sealSecrets, clock } = call
  const caps = capsOf(call)
  const { operation, calledAs, caller, sessionId } = admission
  const { body, texts } = exactBodyOf(req)
  const asked = { ...body, ...undoUnchosenEffort(call, body) }
  const translation = translateCall(operation.dialect, step.dialect, asked, {
    model: calledAs,
    backendModel: step.model,
    newId: newIdentifier,
    createdAt: Math.floor(clock.now().getTime() / 1000),
    isCodex: operation.isCodex ?? false,
    sessionId,
    caps: { ...backend.caps, ...caps },
    seals: backend.traits.isSealed ? sealsFor({ backend, step, team: caller.team, secrets: sealSecrets }) : null,
  })
  if ('refused' in translation) return toRefusedRequest(translation.refused)
  const ofDialect = Object.entries(translation.headers).flat()
  return { ...translation, headers: toStepHeaders(call, req, caps, ofDialect), texts }
}

function clamped(request: Json, { maxTokens }: Backend): Json {
  return maxTokens === null ? request : { ...request, ...clampTokens(request, maxTokens) }
}

type TranslatedAnswer = ReturnType<AnswerTranslation['whole'] | AnswerTranslation['replay']>

/**
 * Translates the answer for the caller. A backend may answer a request for a stream with a whole answer, and the other
 * way around: some proxies always ask their backend for a stream.
 */
function translateAnswers(call: CallStep, { stream, whole, collect, replay }: AnswerTranslation): AnswerRewrite {
  const { operation, wantsStream } = call.admission
  const dialect = DIALECTS[operation.dialect]
  const { keepsStatus } = call.backend.traits
  const toAnswer = (status: number, made: TranslatedAnswer): WholeAnswer | ApiError => {
    if ('events' in made) return toStreamAnswer({ status, events: made.events })
    if ('answer' in made) return toJsonAnswer({ status, body: made.answer })
    return keepsStatus ? writeMisreported(dialect, made.failed) : toFailureAnswer(dialect, made.failed)
  }
  return {
    stream,
    whole(answer) {
      const isError = answer.status >= 300
      if (isError && keepsStatus) return relayError(call, dialect, answer)
      if (isError) return toFailureAnswer(dialect, failureOf(answer.body, answer.status))
      const body = parseExactly(answer.body.toString('utf8'))
      return toAnswer(answer.status, wantsStream ? replay(body) : whole(body))
    },
    collect() {
      const decoder = makeSseDecoder()
      const collector = collect()
      return {
        push(chunk) {
          const events = decoder.push(chunk)
          events.forEach((event) => collector.push(event))
          return events.length > 0
        },
        state: collector.state,
        end: (status) => toAnswer(status, collector.end()),
      }
    },
  }
}
