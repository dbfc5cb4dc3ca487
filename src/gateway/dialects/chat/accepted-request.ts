import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import { renameMember, scanTopLevel, setMembers } from '../json/edit-json.ts'
import { parseToRewrite, readList } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { withoutRefusedHints } from '../refused-members.ts'
import { toPlainSchema } from '../tools/tool-schemas.ts'
import { toStrictHistory } from './strict-history.ts'

type GivenCaps = Partial<ModelCaps>

const HINT_NAMES = { effort: 'reasoning_effort', usage: 'stream_options' }

/**
 * Changes what the model would refuse in a chat client's request:
 * - Hints that it refuses are removed (`refused-members.ts`). None of them changes what the model is asked.
 * - The token limit gets the name that the model accepts (`limitName`).
 * - Some models require a `reasoning_content` of every turn with calls of tools (`reasoningReplay`). Many clients never
 *   send it, and after a change of the model no client has it. An empty one is accepted. Others refuse it.
 * - Some have rules for the ids of calls and for the order of messages (`strictHistory`).
 * - Some servers fail at limits in the schemas of tools (`schemaLimits`).
 *
 * Returns the same bytes where nothing would be refused. `body`: the request, whose long texts may be cut.
 */
export function toAcceptedRequest(request: Buffer, body: Json, caps: GivenCaps): Buffer {
  const accepted = withoutRefusedHints(request, body, caps, HINT_NAMES)
  return withPlainTools(withAcceptedHistory(withNamedLimit(accepted, body, caps), caps), caps)
}

/** Servers have one of two names for the token limit. */
const OTHER_NAME = { max_tokens: 'max_completion_tokens', max_completion_tokens: 'max_tokens' } as const

function withNamedLimit(request: Buffer, body: Json, { limitName }: GivenCaps): Buffer {
  if (limitName === undefined || limitName in body) return request
  const given = OTHER_NAME[limitName]
  return given in body ? renameMember(request, given, limitName) : request
}

function withAcceptedHistory(request: Buffer, { reasoningReplay, strictHistory = false }: GivenCaps): Buffer {
  const change = reasoningReplay && REASONING_CHANGES[reasoningReplay]
  if (!change && !strictHistory) return request
  const given = readMember(request, 'messages')
  if (!Array.isArray(given)) return request
  const messages = change ? given.map(change) : given
  const accepted = strictHistory ? toStrictHistory(messages) : messages
  const isChanged = accepted.some((message, index) => message !== given[index])
  return isChanged ? (setMembers(request, { messages: accepted }) ?? request) : request
}

/** How a message is changed for a model that requires or refuses reasoning. */
const REASONING_CHANGES: { readonly [Replay in ModelCaps['reasoningReplay']]?: (message: unknown) => unknown } = {
  required: withReasoning,
  refused: withoutReasoning,
}

function withoutReasoning(message: unknown): unknown {
  if (!isObject(message) || message.role !== 'assistant') return message
  if (!('reasoning_content' in message || 'reasoning' in message)) return message
  const { reasoning_content: _content, reasoning: _reasoning, ...rest } = message
  return rest
}

function withPlainTools(request: Buffer, { schemaLimits = true }: GivenCaps): Buffer {
  const tools = schemaLimits ? null : readMember(request, 'tools')
  if (!Array.isArray(tools)) return request
  return setMembers(request, { tools: tools.map(withPlainSchema) }) ?? request
}

function withPlainSchema(tool: unknown): unknown {
  if (!isObject(tool) || !isObject(tool.function) || !isObject(tool.function.parameters)) return tool
  return { ...tool, function: { ...tool.function, parameters: toPlainSchema(tool.function.parameters) } }
}

/** A member of the request, with its numbers as they are written; undefined where there is none. */
function readMember(request: Buffer, name: string): unknown {
  const range = scanTopLevel(request)?.members.get(name)
  return range && parseToRewrite(request.toString('utf8', range.start, range.end))
}

function withReasoning(message: unknown): unknown {
  return lacksReasoning(message) ? { ...message, reasoning_content: '' } : message
}

function lacksReasoning(message: unknown): message is Json {
  if (!isObject(message) || message.role !== 'assistant') return false
  return readList(message.tool_calls).length > 0 && typeof message.reasoning_content !== 'string'
}
