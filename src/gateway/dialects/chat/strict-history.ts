import { hash } from 'node:crypto'
import { isObject } from '../../../kernel/json.ts'
import { readList } from '../json/read-json.ts'

/** What stands between the results of tools and a message of the user. */
const BRIDGE = { role: 'assistant', content: 'OK.' }

/**
 * Returns the messages as Mistral's API and the templates of its models require them (`strictHistory`): the ids of
 * calls have nine letters and digits, and no message of the user follows the results of tools directly. A message that
 * needs no change is returned as it is.
 */
export function toStrictHistory<Message>(messages: readonly Message[]): Message[] {
  return messages.flatMap((message, index) => {
    const isAfterResult = roleOf(message) === 'user' && roleOf(messages[index - 1]) === 'tool'
    // Casts: an assistant's message, and one with other ids, are messages of the same kind.
    return [...(isAfterResult ? [BRIDGE as Message] : []), withStrictIds(message) as Message]
  })
}

function roleOf(message: unknown): unknown {
  return isObject(message) ? message.role : null
}

function withStrictIds(message: unknown): unknown {
  if (!isObject(message)) return message
  const { tool_calls: calls, tool_call_id: id } = message
  if (needsStrictId(id)) return { ...message, tool_call_id: toStrictId(id) }
  if (!readList(calls).some((call) => isObject(call) && needsStrictId(call.id))) return message
  return { ...message, tool_calls: readList(calls).map(withStrictId) }
}

function withStrictId(call: unknown): unknown {
  return isObject(call) && needsStrictId(call.id) ? { ...call, id: toStrictId(call.id) } : call
}

function needsStrictId(id: unknown): id is string {
  return typeof id === 'string' && !/^[a-zA-Z0-9]{9}$/.test(id)
}

function toStrictId(id: string): string {
  return hash('sha256', id, 'hex').slice(0, 9)
}
