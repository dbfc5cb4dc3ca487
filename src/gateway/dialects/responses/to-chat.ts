import type { ChatPart, ChatRequest } from '../chat/chunk.ts'
import { type Conversation, conversation } from '../chat/conversation.ts'
import { isObject, type Json, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import { orRefused, refuse, type Refusal } from '../refusal.ts'
import { functionName, readResponsesTools, type ReadTools, type ResponsesTools, toArguments } from './tools.ts'

/** What the way back must remember of a responses request. */
export type ResponsesFacts = {
  readonly tools: ResponsesTools
  /** The members of the request that every response object repeats. */
  readonly echo: Json
  /** Tools that the caller offered and the model was told it does not have. */
  readonly withheld: readonly string[]
}

/**
 * A request in the responses style (OpenAI Responses API) as a chat completions request for `model`, or the refusal of what
 * a stateless chat engine cannot be asked: previous_response_id, conversation, stored prompts, background, items and files
 * by reference, encrypted summaries, hosted tools (`readResponsesTools` says what becomes of which tool).
 *
 * Fields are mapped from a list, never passed on: input, instructions, tools, tool_choice, parallel_tool_calls,
 * max_output_tokens, temperature, top_p, text.format, reasoning.effort, user or safety_identifier, stream (with usage).
 * Hints that change nothing here are ignored: include, store, metadata (repeated in the answer), client_metadata,
 * prompt_cache_key and its like, service_tier, truncation, text.verbosity, reasoning.summary, max_tool_calls (counts hosted
 * tools), stream_options, context_management; so is every field unknown here. Of the history, reasoning items (only their
 * author can read them) and web_search_call items (a query without its results) are left out.
 */
export function toChatFromResponses(
  body: Json,
  { model }: { readonly model: string },
): { request: ChatRequest; facts: ResponsesFacts } | { refused: Refusal } {
  return orRefused(() => {
    refuseWhatCannotCross(body)
    const tools = readResponsesTools(body)
    const user = readName(body.user) ?? readName(body.safety_identifier)
    const effort = readEffort(body.reasoning)
    const format = readFormat(readObject(body.text).format)
    const request: ChatRequest = {
      model,
      messages: readInput(body, tools),
      ...(body.stream === true && { stream: true, stream_options: { include_usage: true } }),
      ...readLimit(body.max_output_tokens),
      ...(typeof body.temperature === 'number' && { temperature: body.temperature }),
      ...(typeof body.top_p === 'number' && { top_p: body.top_p }),
      ...tools.request,
      ...(format !== null && { response_format: format }),
      ...(effort !== null && { reasoning_effort: effort }),
      ...(user !== null && { user }),
    }
    return { request, facts: { tools: tools.tools, echo: toEcho(body, tools), withheld: tools.withheld } }
  })
}

function refuseWhatCannotCross(body: Json): void {
  for (const [param, message] of Object.entries(NEEDS_STATE)) {
    if (body[param] !== undefined && body[param] !== null) refuse(param, message)
  }
  if (body.background === true) refuse('background', 'A local engine answers at once or not at all.')
  if ((readCount(body.top_logprobs) ?? 0) > 0) refuse('top_logprobs', 'A local engine reports no log probabilities.')
}

const NEEDS_STATE = {
  previous_response_id: 'A local engine keeps no responses: send the whole conversation as input.',
  conversation: 'A local engine keeps no conversations: send the whole conversation as input.',
  prompt: 'A local engine keeps no prompts: send the text as instructions and input.',
}

function readLimit(value: unknown): { max_tokens?: number } {
  if (value === undefined || value === null) return {}
  const limit = readCount(value)
  if (limit === null || limit === 0)
    refuse('max_output_tokens', 'max_output_tokens must be a whole number of at least 1.')
  return { max_tokens: limit }
}

/** Engines know three efforts and none; the others go to the nearest. */
function readEffort(reasoning: unknown): string | null {
  const effort = readName(readObject(reasoning).effort)
  return effort === null ? null : (NEAREST_EFFORT.get(effort) ?? effort)
}

const NEAREST_EFFORT: ReadonlyMap<string, string> = new Map([
  ['minimal', 'low'],
  ['xhigh', 'high'],
  ['max', 'high'],
])

function readFormat(format: unknown): Json | null {
  if (!isObject(format) || format.type === 'text') return null
  if (format.type === 'json_object') return { type: 'json_object' }
  if (format.type !== 'json_schema') refuse('text.format.type', 'text.format must be text, json_object or json_schema.')
  const { type, ...json_schema } = format
  return { type, json_schema }
}

function toEcho(body: Json, tools: ReadTools): Json {
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    temperature: body.temperature ?? null,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: tools.described,
    top_p: body.top_p ?? null,
    user: body.user ?? null,
  }
}

// ---- input

function readInput(body: Json, { tools, withheld }: ReadTools): ChatRequest['messages'] {
  const history = conversation()
  history.system(readText(body.instructions))
  if (withheld.length > 0) history.system(`The tool ${withheld.join(', ')} is not available in this session.`)
  if (typeof body.input === 'string') history.user([{ type: 'text', text: body.input }])
  else if (!Array.isArray(body.input)) refuse('input', 'input must be a text or a list of items.')
  readList(body.input).forEach((item, at) => {
    readItem(history, tools, readObject(item), `input.${String(at)}`)
  })
  return history.messages()
}

function readItem(history: Conversation, tools: ResponsesTools, item: Json, param: string): void {
  switch (item.type ?? 'message') {
    case 'message':
      return readMessage(history, item, param)
    case 'function_call':
      return addCall(history, tools, item, readText(item.arguments) || '{}')
    case 'custom_tool_call':
      return addCall(history, tools, item, toArguments(readText(item.input)))
    case 'function_call_output':
    case 'custom_tool_call_output':
      return addResult(history, item, param)
    case 'reasoning':
    case 'web_search_call':
      return
    case 'item_reference':
      return refuse(param, 'A local engine keeps no items: send the item itself.')
    case 'compaction':
    case 'compaction_summary':
    case 'compaction_trigger':
      return refuse(param, `A local engine neither writes nor reads an encrypted summary (${String(item.type)}).`)
    default:
      return refuse(param, `An item of type ${readName(item.type) ?? 'unknown'} cannot be sent to a chat engine.`)
  }
}

function readMessage(history: Conversation, { role, content }: Json, param: string): void {
  const parts = readContent(content, `${param}.content`)
  if (role === 'user') return history.user(parts)
  const text = toText(parts)
  if (role === 'assistant') history.assistant(text)
  else if (role === 'system' || role === 'developer') history.system(text)
  else refuse(`${param}.role`, 'role must be user, assistant, system or developer.')
}

function addCall(history: Conversation, tools: ResponsesTools, item: Json, args: string): void {
  const name = functionName(tools, readText(item.name), readName(item.namespace))
  history.call({ id: readText(item.call_id), type: 'function', function: { name, arguments: args } })
}

/** Chat tool messages hold text only, so images follow in the user's turn. */
function addResult(history: Conversation, item: Json, param: string): void {
  const parts = readContent(item.output ?? '', `${param}.output`)
  const images = parts.filter((part) => part.type === 'image_url')
  const said = toText(parts)
  const text = said === '' && images.length > 0 ? 'The result is the image that follows.' : said
  history.result(`${param}.call_id`, { callId: readText(item.call_id), text, images })
}

function toText(parts: readonly ChatPart[]): string {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function readContent(content: unknown, param: string): ChatPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  if (!Array.isArray(content)) refuse(param, 'Content must be a text or a list of parts.')
  return readList(content).map((part, at) => readPart(readObject(part), `${param}.${String(at)}`))
}

function readPart(part: Json, param: string): ChatPart {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: readText(part.text) }
    case 'refusal':
      return { type: 'text', text: readText(part.refusal) }
    case 'input_image':
      return { type: 'image_url', image_url: readImage(part, param) }
    default:
      return refuse(param, `Content of type ${readName(part.type) ?? 'unknown'} cannot be sent to a chat engine.`)
  }
}

function readImage(part: Json, param: string): { url: string; detail?: string } {
  const url = readName(part.image_url) ?? refuse(param, 'An image must be a URL: a local engine keeps no files.')
  const detail = readName(part.detail)
  return detail === null || detail === 'auto' ? { url } : { url, detail }
}
