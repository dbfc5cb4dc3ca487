import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import { readList, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { toSignedHistory } from './replay-data.ts'
import { toStrictHistory } from './strict-history.ts'

type HistoryCaps = Partial<Pick<ModelCaps, 'reasoningReplay' | 'strictHistory' | 'strictContent' | 'unsignedCalls'>>

/**
 * Returns the messages as a model with these caps accepts them. A message that needs no change is returned as it is.
 * - Some models require a `reasoning_content` of every turn (`reasoningReplay`). Many clients never send it, and after
 *   a change of the model no client has it. One with a space is accepted. Others refuse the member.
 * - Some require a signature of the calls (`unsignedCalls`).
 * - Some have rules for the ids of calls and for the order of messages (`strictHistory`).
 * - Some accept only texts as the content of a message (`strictContent`).
 */
export function toAcceptedHistory<Message>(given: readonly Message[], caps: HistoryCaps): Message[] {
  const { reasoningReplay, strictHistory = false, strictContent = false, unsignedCalls = true } = caps
  // Casts: a message with other reasoning or another form of its content is a message of the same kind.
  const reasoned = given.map((message) => withAcceptedReasoning(message, reasoningReplay) as Message)
  const signed = unsignedCalls ? reasoned : toSignedHistory(reasoned)
  const ordered = strictHistory ? toStrictHistory(signed) : signed
  return strictContent ? ordered.map((message) => withTextContent(message) as Message) : ordered
}

/** DeepSeek's newest models refuse an empty one (NousResearch/hermes-agent#18263). */
const NO_REASONING = ' '

function withAcceptedReasoning(message: unknown, replay: HistoryCaps['reasoningReplay']): unknown {
  if (!isObject(message) || message.role !== 'assistant') return message
  if (replay === 'refused') return withoutReasoning(message)
  const isLacking = readText(message.reasoning_content) === ''
  return replay === 'required' && isLacking ? { ...message, reasoning_content: NO_REASONING } : message
}

/** A message with an image or a file keeps its list. */
function withTextContent(message: unknown): unknown {
  if (!isObject(message) || typeof message.content === 'string') return message
  const parts = readList(message.content).map(readObject)
  if (!parts.every(({ type }) => type === 'text')) return message
  return { ...message, content: parts.map(({ text }) => readText(text)).join('\n\n') }
}

function withoutReasoning(message: Json): Json {
  if (!('reasoning_content' in message || 'reasoning' in message)) return message
  const { reasoning_content: _content, reasoning: _reasoning, ...rest } = message
  return rest
}
