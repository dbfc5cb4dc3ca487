import { isObject } from '../../../kernel/json.ts'
import type { ModelCaps } from '../caps.ts'
import { changeMember, removeMembers } from '../json/edit-json.ts'
import { readList, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { rewriteList } from '../json/rewrite-list.ts'
import { withPlainTools } from '../tools/plain-tools.ts'

/**
 * Changes what the model would refuse in a messages client's request: thinking that it requires before a call is added
 * (`reasoningReplay`), and limits in the schemas of tools (`schemaLimits`), an effort where there is no choice of one
 * (`efforts`), and what only a beta has (`betas`) are removed. Returns the same bytes where nothing would be refused.
 */
export function toAcceptedRequest(request: Buffer, body: Json, caps: Partial<ModelCaps>): Buffer {
  const { betas = true, efforts, reasoningReplay } = caps
  const stable = !betas && 'context_management' in body ? removeMembers(request, ['context_management']) : request
  const unasked = efforts?.length === 0 ? withoutEffort(stable, body) : stable
  const isRequired = reasoningReplay === 'required'
  const complete = isRequired ? rewriteList(unasked, 'messages', (messages) => messages.map(withThinking)) : unasked
  return withPlainTools(complete, body, caps)
}

function withoutEffort(request: Buffer, body: Json): Buffer {
  const { effort, ...rest } = readObject(body.output_config)
  if (effort === undefined) return request
  if (Object.keys(rest).length === 0) return removeMembers(request, ['output_config'])
  return changeMember(request, 'output_config', (value) => removeMembers(value, ['effort']))
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
