import type { ChatPart, ChatRequest, ChatTool, ChatToolChoice } from '../chat/chunk.ts'
import { type Conversation, conversation } from '../chat/conversation.ts'
import { isObject, type Json, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import { orRefused, refuse, type Refusal } from '../refusal.ts'

/** What the way back must remember of a messages request. */
export type MessagesFacts = { readonly stopSequences: readonly string[] }

/**
 * A request in the messages style (Anthropic Messages API) as a chat completions request for `model`, or the refusal of
 * what a chat engine cannot be asked: tools that the vendor defines or runs, files, containers, connectors.
 *
 * Fields are mapped from a list, never passed on: system, messages, max_tokens, stop_sequences, temperature, top_p,
 * top_k, tools, tool_choice, output_config.format, metadata.user_id, stream (with usage, which the vendor's clients need).
 * Fields that only steer cost, caching or effort are hints and ignored: cache_control, thinking, output_config.effort,
 * context_management, service_tier, speed, inference_geo, diagnostics, and so is every field unknown here. Thinking
 * blocks of the history are left out: they are signed for the model that wrote them.
 */
export function toChatFromMessages(
  body: Json,
  { model }: { readonly model: string },
): { request: ChatRequest; facts: MessagesFacts } | { refused: Refusal } {
  return orRefused(() => {
    refuseWhatCannotCross(body)
    const stop = readList(body.stop_sequences).filter((sequence) => typeof sequence === 'string')
    const request: ChatRequest = {
      model,
      messages: readMessages(body),
      ...(body.stream === true && { stream: true, stream_options: { include_usage: true } }),
      ...readLimit(body.max_tokens),
      ...(typeof body.temperature === 'number' && { temperature: body.temperature }),
      ...(typeof body.top_p === 'number' && { top_p: body.top_p }),
      ...(typeof body.top_k === 'number' && { top_k: body.top_k }),
      ...(stop.length > 0 && { stop }),
      ...readTools(body),
      ...readFormat(body),
      ...readUser(body.metadata),
    }
    return { request, facts: { stopSequences: stop } }
  })
}

function refuseWhatCannotCross(body: Json): void {
  if (body.container !== undefined && body.container !== null) refuse('container', 'A local engine has no containers.')
  if (readList(body.mcp_servers).length > 0) refuse('mcp_servers', 'A local engine cannot call MCP servers.')
}

function readLimit(value: unknown): { max_tokens?: number } {
  if (value === undefined || value === null) return {}
  const limit = readCount(value)
  if (limit === null || limit === 0) refuse('max_tokens', 'max_tokens must be a whole number of at least 1.')
  return { max_tokens: limit }
}

function readUser(metadata: unknown): { user?: string } {
  const user = readName(readObject(metadata).user_id)
  return user === null ? {} : { user }
}

function readFormat(body: Json): { response_format?: Json } {
  const format = readObject(body.output_config).format ?? body.output_format
  if (!isObject(format)) return {}
  if (format.type !== 'json_schema') refuse('output_config.format', 'The only output format is json_schema.')
  return { response_format: { type: 'json_schema', json_schema: { name: 'output', schema: format.schema } } }
}

// ---- history

function readMessages(body: Json): ChatRequest['messages'] {
  const history = conversation()
  history.system(systemText(body.system, 'system'))
  if (!Array.isArray(body.messages)) refuse('messages', 'messages must be a list.')
  readList(body.messages).forEach((message, at) => {
    readMessage(history, message, `messages.${String(at)}`)
  })
  return history.messages()
}

function readMessage(history: Conversation, message: unknown, param: string): void {
  const { role, content } = readObject(message)
  if (role === 'system') return history.system(systemText(content, `${param}.content`))
  if (role !== 'user' && role !== 'assistant') refuse(`${param}.role`, 'role must be user, assistant or system.')
  blocks(content, `${param}.content`).forEach((block, at) => {
    const path = `${param}.content.${String(at)}`
    if (role === 'assistant') readAssistantBlock(history, block, path)
    else readUserBlock(history, block, path)
  })
}

function readAssistantBlock(history: Conversation, block: Json, param: string): void {
  switch (block.type) {
    case 'text':
      return history.assistant(readText(block.text))
    case 'tool_use':
      // A call without arguments may have no input at all; chat templates want an object.
      return history.call({
        id: readText(block.id),
        type: 'function',
        function: { name: readText(block.name), arguments: JSON.stringify(readObject(block.input)) },
      })
    case 'thinking':
    case 'redacted_thinking':
      return
    default:
      return refuseBlock(block, param)
  }
}

function readUserBlock(history: Conversation, block: Json, param: string): void {
  if (block.type === 'tool_result') {
    const parts = blocks(block.content ?? '', `${param}.content`).flatMap((inner, at) =>
      readContent(inner, `${param}.content.${String(at)}`),
    )
    history.result(`${param}.tool_use_id`, toolResult(block, parts))
  } else history.user(readContent(block, param))
}

/** Chat tool messages hold text only, so images follow in the user's turn; that a tool failed is said in words. */
function toolResult(block: Json, parts: ChatPart[]): Parameters<Conversation['result']>[1] {
  const images = parts.filter((part) => part.type === 'image_url')
  const said = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
  const text = said === '' && images.length > 0 ? 'The result is the image that follows.' : said
  return { callId: readText(block.tool_use_id), text: block.is_error === true ? `Error: ${text}` : text, images }
}

function readContent(block: Json, param: string): ChatPart[] {
  switch (block.type) {
    case 'text':
      return block.text === '' ? [] : [{ type: 'text', text: readText(block.text) }]
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(readObject(block.source), param) } }]
    case 'document':
      return readDocument(block, param)
    case 'search_result':
      return [
        { type: 'text', text: [block.title, block.source, systemText(block.content, param)].map(readText).join('\n') },
      ]
    case 'tool_reference':
      return [{ type: 'text', text: `The tool ${readText(block.tool_name)} is available.` }]
    default:
      return refuseBlock(block, param)
  }
}

function imageUrl(source: Json, param: string): string {
  if (source.type === 'base64') return `data:${readText(source.media_type)};base64,${readText(source.data)}`
  if (source.type === 'url') return readText(source.url)
  return refuse(`${param}.source`, 'An image must be base64 or a URL.')
}

function readDocument(block: Json, param: string): ChatPart[] {
  const source = readObject(block.source)
  if (source.type === 'text') return [{ type: 'text', text: readText(source.data) }]
  if (source.type !== 'content')
    refuse(`${param}.source`, 'A document must be plain text: a chat engine reads no files.')
  return blocks(source.content, `${param}.source.content`).flatMap((inner, at) =>
    readContent(inner, `${param}.source.content.${String(at)}`),
  )
}

function refuseBlock(block: Json, param: string): never {
  return refuse(param, `Content of type ${readName(block.type) ?? 'unknown'} cannot be sent to a chat engine.`)
}

/** Content is a text or a list of blocks, everywhere. */
function blocks(content: unknown, param: string): readonly Json[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) refuse(param, 'Content must be a text or a list of blocks.')
  return readList(content).map((block, at) =>
    isObject(block) ? block : refuse(`${param}.${String(at)}`, 'A block of content must be an object.'),
  )
}

function systemText(content: unknown, param: string): string {
  if (content === undefined || content === null) return ''
  return blocks(content, param)
    .map((block, at) => (block.type === 'text' ? readText(block.text) : refuseBlock(block, `${param}.${String(at)}`)))
    .join('\n\n')
}

// ---- tools

function readTools(body: Json): Pick<ChatRequest, 'tools' | 'tool_choice' | 'parallel_tool_calls'> {
  const tools = readList(body.tools).map((tool, at) => readTool(readObject(tool), `tools.${String(at)}`))
  const { choice, only } = isObject(body.tool_choice) ? readChoice(body.tool_choice, tools) : NO_CHOICE
  if (tools.length === 0) return {}
  const parallel = readObject(body.tool_choice).disable_parallel_tool_use
  return {
    tools: only === null ? tools : tools.filter((tool) => tool.function.name === only),
    ...(choice !== null && { tool_choice: choice }),
    ...(typeof parallel === 'boolean' && choice !== 'none' && { parallel_tool_calls: !parallel }),
  }
}

/** A tool without a type is one of the caller's own; every other type has a shape and a meaning that only the vendor knows. */
function readTool(tool: Json, param: string): ChatTool {
  const type = tool.type ?? 'custom'
  const name = readText(tool.name)
  if (type !== 'custom')
    refuse(param, `The tool ${name} of type ${readName(type) ?? 'unknown'} does not exist on a local engine.`)
  if (name === '') refuse(`${param}.name`, 'A tool must have a name.')
  return {
    type: 'function',
    function: {
      name,
      ...(typeof tool.description === 'string' && { description: tool.description }),
      parameters: readObject(tool.input_schema ?? { type: 'object', properties: {} }),
      ...(tool.strict === true && { strict: true }),
    },
  }
}

/** `only`: the tool that is to be called. */
type Choice = { readonly choice: ChatToolChoice | null; readonly only: string | null }

const NO_CHOICE: Choice = { choice: null, only: null }

function readChoice(choice: Json, tools: readonly ChatTool[]): Choice {
  if (choice.type === 'auto' || choice.type === 'none') return { choice: choice.type, only: null }
  if (tools.length === 0) refuse('tool_choice', 'A tool cannot be demanded where there are none.')
  if (choice.type === 'any') return { choice: 'required', only: null }
  if (choice.type !== 'tool') refuse('tool_choice.type', 'tool_choice must be auto, any, tool or none.')
  const name = readText(choice.name)
  if (!tools.some((tool) => tool.function.name === name)) refuse('tool_choice.name', `There is no tool named ${name}.`)
  return { choice: 'required', only: name }
}
