import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import { readList } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteList } from '../json/rewrite-list.ts'
import { withPlainTools } from '../tools/plain-tools.ts'

/**
 * Changes what the model would refuse in a messages client's request: thinking that it requires before a call is added
 * (`reasoningReplay`), and limits in the schemas of tools are removed (`schemaLimits`). Returns the same bytes where
 * nothing would be refused.
 */
export function toAcceptedRequest(request: Buffer, _body: Json, caps: Partial<ModelCaps>): Buffer {
  const isRequired = caps.reasoningReplay === 'required'
  const complete = isRequired ? rewriteList(request, 'messages', (messages) => messages.map(withThinking)) : request
  return withPlainTools(complete, caps)
}

/** What stands for the thinking of another model, or of one whose client has lost it. */
const NO_THINKING = { type: 'thinking', thinking: ' ', signature: '' }

/** Returns a message with thinking before its calls. One that needs none is returned as it is. */
export function withThinking<Message>(message: Message): Message {
  if (!isObject(message) || message.role !== 'assistant') return message
  const types = readList(message.content).map((block) => isObject(block) && block.type)
  if (!types.includes('tool_use') || types.some((type) => THINKING.has(type))) return message
  // Cast: a message with one more block is a message of the same kind.
  return { ...message, content: [NO_THINKING, ...readList(message.content)] }
}

const THINKING: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking'])
