import { backendFailed } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'

/** Calls that are translated, or that the vendor runs itself. */
const KNOWN_CALLS: ReadonlySet<string> = new Set([
  ...['function_call', 'custom_tool_call', 'web_search_call'],
  ...['code_interpreter_call', 'file_search_call', 'image_generation_call', 'mcp_call'],
])

/** Whether an item is a call that the client must carry out and that no other dialect has. */
export function isForeignCall({ type }: Json): boolean {
  const name = readText(type)
  return name === 'mcp_approval_request' || (name.endsWith('_call') && !KNOWN_CALLS.has(name))
}

/** The failure of an answer with such a call. */
export function foreignCall({ type }: Json): Failure {
  return backendFailed(`The model made a call of the type ${String(type)}, which this client cannot carry out.`)
}
