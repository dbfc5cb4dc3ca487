import type { ModelCaps } from '../caps.ts'
import { renameMember } from '../json/edit-json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteList } from '../json/rewrite-list.ts'
import { withoutRefusedHints } from '../refused-hints.ts'
import { withPlainTools } from '../tools/plain-tools.ts'
import { toAcceptedHistory } from './accepted-history.ts'

type GivenCaps = Partial<ModelCaps>

const HINT_NAMES = { effort: 'reasoning_effort', usage: 'stream_options' }

/**
 * Changes what the model would refuse in a chat client's request:
 * - Hints that it refuses are removed (`refused-hints.ts`). None of them changes what the model is asked.
 * - The token limit gets the name that the model accepts (`limitName`).
 * - The conversation gets the form that it accepts (`accepted-history.ts`).
 * - Some servers fail at limits in the schemas of tools (`schemaLimits`).
 *
 * Returns the same bytes where nothing would be refused. `body`: the request, whose long texts may be cut.
 */
export function toAcceptedRequest(request: Buffer, body: Json, caps: GivenCaps): Buffer {
  const accepted = withoutRefusedHints(request, body, caps, HINT_NAMES)
  return withPlainTools(withAcceptedHistory(withNamedLimit(accepted, body, caps), caps), body, caps)
}

/** Servers have one of two names for the token limit. */
const OTHER_NAME = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' } as const

function withNamedLimit(request: Buffer, body: Json, { limitName }: GivenCaps): Buffer {
  if (limitName === undefined || limitName in body) return request
  const given = OTHER_NAME[limitName]
  return given in body ? renameMember(request, given, limitName) : request
}

function withAcceptedHistory(request: Buffer, caps: GivenCaps): Buffer {
  const { reasoningReplay, strictHistory = false, strictContent = false, unsignedCalls = true } = caps
  const isAnyReasoning = reasoningReplay === undefined || reasoningReplay === 'accepted'
  const isAny = isAnyReasoning && !strictHistory && !strictContent && unsignedCalls
  return isAny ? request : rewriteList(request, 'messages', (messages) => toAcceptedHistory(messages, caps))
}
