import { isObject } from '../../../kernel/json.ts'
import { scanTopLevel, setMembers } from '../json/edit-json.ts'
import { parseToRewrite, readList } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'

/**
 * Gives every earlier turn with calls of tools a `reasoning_content`, for models that refuse a history without it
 * (`reasoningReplay`). Many clients never send it, and after a change of the model no client has it. An empty one is
 * accepted.
 */
export function withRequiredReasoning(request: Buffer): Buffer {
  const range = scanTopLevel(request)?.members.get('messages')
  const messages = range && parseToRewrite(request.toString('utf8', range.start, range.end))
  if (!Array.isArray(messages) || !messages.some(lacksReasoning)) return request
  const complete = (message: unknown) => (lacksReasoning(message) ? { ...message, reasoning_content: '' } : message)
  return setMembers(request, { messages: messages.map(complete) }) ?? request
}

function lacksReasoning(message: unknown): message is Json {
  if (!isObject(message) || message.role !== 'assistant') return false
  return readList(message.tool_calls).length > 0 && typeof message.reasoning_content !== 'string'
}
