import { readList, readObject, readText } from '../../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../../src/gateway/dialects/json/read-json.ts'
import { isCount } from './check.ts'
import type { Check } from './check.ts'

/** Checks the members of a whole response that do not depend on the events before it. */
export function checkResponse(check: Check, response: Json): void {
  check(response.object === 'response', 'object is not response')
  check(isCount(response.created_at), 'created_at is not a number of seconds')
  check(readText(response.model) !== '', 'the response has no model')
  check(Array.isArray(response.output) && Array.isArray(response.tools), 'output or tools is not a list')
  if (response.status !== 'in_progress') checkTerminal(check, response)
}

function checkTerminal(check: Check, response: Json): void {
  const status = readText(response.status)
  if (status === 'failed') {
    const error = readObject(response.error)
    check(readText(error.code) !== '' && readText(error.message) !== '', 'the failure has no code or message')
  } else {
    check(response.error === null, `a ${status} response has an error`)
    check(response.usage !== null, `a ${status} response has no usage`)
  }
  const reason = readObject(response.incomplete_details).reason
  check((status === 'incomplete') === (typeof reason === 'string'), 'incomplete_details does not match the status')
  if (response.usage === null) return
  const usage = readObject(response.usage)
  const counts = [
    ...[usage.input_tokens, usage.output_tokens, usage.total_tokens],
    readObject(usage.input_tokens_details).cached_tokens,
    readObject(usage.output_tokens_details).reasoning_tokens,
  ]
  check(counts.every(isCount), 'a member of usage is missing or not a count')
}

/** Checks one item of the output when it is added, or when it is done. */
export function checkItem(check: Check, item: Json, when: 'in_progress' | 'done'): void {
  const statuses = when === 'done' ? ['completed', 'incomplete'] : ['in_progress']
  if (hasStatus(item)) check(statuses.includes(readText(item.status)), `an item is ${readText(item.status)}`)
  if (item.type === 'message')
    check(item.role === 'assistant' && Array.isArray(item.content), 'a message has no role or content')
  else if (item.type === 'reasoning') check(Array.isArray(item.summary), 'reasoning has no summary')
  else if (item.type === 'function_call' || item.type === 'custom_tool_call') {
    const input = item.type === 'function_call' ? item.arguments : item.input
    check(readText(item.call_id) !== '' && readText(item.name) !== '', 'a call has no call_id or name')
    check(typeof input === 'string', 'a call has no arguments or input')
    if (when === 'in_progress') check(input === '', 'a call does not start empty')
  } else if (item.type === 'web_search_call')
    check(readText(readObject(item.action).type) === 'search', 'a search has no action')
  else if (item.type === 'compaction')
    check(typeof item.encrypted_content === 'string', 'a compaction has no encrypted_content')
  else check(false, `unknown item type ${readText(item.type)}`)
}

/** Whether items of this type have a status. */
export function hasStatus({ type }: Json): boolean {
  return type !== 'reasoning' && type !== 'compaction'
}

/** All text of an item: arguments, input, content and summary. */
export function contentOf(item: Json): string {
  const parts = [...readList(item.content), ...readList(item.summary)].map(readObject)
  return (
    readText(item.arguments) +
    readText(item.input) +
    parts.map((part) => readText(part.text) + readText(part.refusal)).join('')
  )
}
