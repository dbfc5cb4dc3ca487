import { isObject } from '../../../kernel/json.ts'
import {
  isGiven,
  parseObject,
  readBoolean,
  readCount,
  readList,
  readName,
  readObject,
  readText,
  readTexts,
} from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, OutputFormat, ReasoningOptions, Tool, ToolChoice, Turn } from '../neutral.ts'
import { requireSchema } from '../read-format.ts'
import { readLimit, readSampling, readStops } from '../read-settings.ts'
import { refuse, refuseMembers, refuseRest } from '../refusal.ts'
import type { ClientCall, TranslationContext } from '../translated-dialect.ts'
import { readBlocks, readMark, readParts } from './read-content.ts'
import { listTools } from './tool-changes.ts'
import { makeMessagesWriter } from './write-answer.ts'

/**
 * Reads a request of the messages dialect (Anthropic Messages API). It reads these fields: system, messages,
 * max_tokens, stop_sequences, temperature, top_p, top_k, tools, tool_choice, thinking, output_config, output_format,
 * metadata.user_id, stream. Unknown fields, and fields that affect only cost or speed (context_management,
 * service_tier, speed, diagnostics), are ignored. Throws a refusal for a field that relies on state or guarantees of
 * the vendor, or is of another dialect.
 */
export function readMessagesRequest(body: Json, context: TranslationContext): ClientCall {
  refuseMembers(body, UNSUPPORTED)
  refuseMembers(body, OF_OTHER_DIALECTS)
  if (continuesThread(body)) refuseRest('thread', NO_THREADS, 'thread_not_found')
  const listed = listTools(body)
  const tools = listed.map(({ tool, path }) => readTool(tool, path, listed.length === 1))
  const stop = readStops(body, 'stop_sequences')
  const request: NeutralRequest = {
    stream: body.stream === true,
    turns: [...readSystem(body.system), ...readTurns(body.messages, context)],
    tools,
    ...readChoice(body.tool_choice, tools),
    maxOutput: readLimit(body, 'max_tokens'),
    stop,
    sampling: {
      temperature: readSampling(body, 'temperature'),
      topP: readSampling(body, 'top_p'),
      topK: readSampling(body, 'top_k'),
      logprobs: null,
    },
    reasoning: readReasoning(body),
    format: readFormat(body),
    hints: { ...readUser(body.metadata, context.sessionId), verbosity: null },
  }
  return {
    request,
    argumentsAreObjects: true,
    makeAnswerWriter: () => makeMessagesWriter({ context, stopSequences: stop }),
  }
}

const UNSUPPORTED: Readonly<Record<string, string>> = {
  container: 'This model has no containers: leave container out.',
  mcp_servers: 'This model cannot call MCP servers: send their tools as tools.',
  fallbacks: 'This service chooses the backends of a model itself: leave fallbacks out.',
  inference_geo: 'This model makes no promise about its place: leave inference_geo out.',
  billing_policy: 'This model makes no promise about its price: leave billing_policy out.',
}

/** Members of the other dialects that would change the answer. */
const OF_OTHER_DIALECTS: Readonly<Record<string, string>> = {
  instructions: 'Messages have no instructions: send them as system.',
  max_completion_tokens: 'Messages have no max_completion_tokens: send it as max_tokens.',
  max_output_tokens: 'Messages have no max_output_tokens: send it as max_tokens.',
  stop: 'Messages have no stop: send it as stop_sequences.',
  response_format: 'Messages have no response_format: send it as output_config.format.',
  reasoning_effort: 'Messages have no reasoning_effort: send it as output_config.effort.',
}

const NO_THREADS = 'This service does not store threads: send the whole conversation as messages.'

/**
 * Whether the vendor holds the first part of the conversation. A request that creates a thread has all of it. It is
 * served without one, as the vendor does when it cannot keep a thread.
 */
function continuesThread({ thread }: Json): boolean {
  return isGiven(thread) && readObject(thread).type !== 'create'
}

/**
 * Reads the user id. One agent sends a JSON object as user id, whose session id becomes the cache key. Other agents
 * name their session in a header.
 */
function readUser(metadata: unknown, sessionId: string | null): { user: string | null; cacheKey: string | null } {
  const user = readName(readObject(metadata).user_id)
  // Only an object is parsed, because a failed parse costs an error with its stack.
  const parsed = user?.startsWith('{') ? parseObject(user) : null
  return { user, cacheKey: readName(parsed?.session_id) ?? sessionId }
}

function readFormat(body: Json): OutputFormat | null {
  const { format } = readObject(body.output_config)
  const [given, path] = isGiven(format) ? [format, 'output_config.format'] : [body.output_format, 'output_format']
  if (!isGiven(given)) return null
  if (!isObject(given) || given.type !== 'json_schema') refuse(path, 'The output format must be json_schema.')
  return { kind: 'schema', name: null, description: null, schema: requireSchema(given.schema, path), strict: null }
}

function readReasoning(body: Json): ReasoningOptions {
  const thinking = readObject(body.thinking)
  const isOff = thinking.type === 'disabled'
  const effort = readName(readObject(body.output_config).effort)
  return {
    effort: isOff ? 'none' : (effort ?? effortOfBudget(thinking)),
    effortIsHint: true,
    show: thinking.type === undefined ? null : !isOff && thinking.display !== 'omitted',
  }
}

/** Reads an effort from a thinking budget. A budget below the vendor's minimum of 1024 tokens is none. */
function effortOfBudget({ type, budget_tokens: budget }: Json): string | null {
  const tokens = type === 'enabled' ? (readCount(budget) ?? 0) : 0
  if (tokens < 1024) return null
  return tokens <= 4096 ? 'low' : tokens <= 16_384 ? 'medium' : 'high'
}

// ---- history

/** Reads the system prompt as one turn for each block, so that cache marks and boundaries are kept. */
function readSystem(system: unknown): Turn[] {
  if (system === undefined || system === null) return []
  return readBlocks(system, 'system').flatMap((block, at) => {
    const path = `system.${String(at)}`
    const text = readSystemText(block, path)
    // One agent writes this block first, with a value that differs in each conversation. It would prevent a shared
    // cache.
    if (text === '' || text.startsWith('x-anthropic-billing-header:')) return []
    return [{ role: 'system', path, parts: [{ type: 'text', text, path, ...readMark(block) }] } satisfies Turn]
  })
}

function readSystemText(block: Json, path: string): string {
  if (block.type !== 'text') refuse(path, 'A system prompt must be text: send other content in a message of the user.')
  return readText(block.text)
}

function readTurns(messages: unknown, context: TranslationContext): Turn[] {
  if (!Array.isArray(messages)) refuse('messages', 'It must be a list.')
  const listed = readList(messages).map(readObject)
  const lastUserAt = listed.findLastIndex(({ role }) => role === 'user')
  return listed.flatMap(({ role, content, clear_at: clearAt }, at) => {
    const path = `messages.${String(at)}`
    // The vendor shows such a system message only until the user's next one.
    if (role === 'system' && clearAt === 'next_user_message' && at < lastUserAt) return []
    if (role !== 'user' && role !== 'assistant' && role !== 'system') {
      refuse(`${path}.role`, 'It must be user, assistant or system.')
    }
    return { role, path, parts: readParts(role, content, `${path}.content`, context) }
  })
}

// ---- tools

/** Reads a tool. A tool without a type is a tool of the client. */
function readTool(tool: Json, path: string, isOnlyOne: boolean): Tool {
  const type = readName(tool.type) ?? 'custom'
  const name = readText(tool.name)
  const mark = readMark(tool)
  if (type !== 'custom') {
    const domains = readTexts(tool.allowed_domains)
    const webSearch = type.startsWith('web_search_')
    return {
      kind: 'hosted',
      type,
      name,
      webSearch,
      domains: domains.length > 0 ? domains : null,
      blockedDomains: readTexts(tool.blocked_domains),
      isLive: true,
      location: isObject(tool.user_location) ? tool.user_location : null,
      essential: isOnlyOne,
      path,
      ...mark,
    }
  }
  if (name === '') refuse(`${path}.name`, 'A tool must have a name.')
  return {
    kind: 'function',
    name,
    namespace: null,
    description: readDescription(tool),
    schema: tool.input_schema ?? null,
    strict: readBoolean(tool.strict),
    deferred: tool.defer_loading === true,
    grammar: null,
    path,
    ...mark,
  }
}

/** The description of a tool, with the examples of its input, for which other dialects have no member. */
function readDescription({ description, input_examples: given }: Json): string | null {
  const examples = readList(given).map((example) => `An example of its input: ${JSON.stringify(example)}`)
  const texts = typeof description === 'string' ? [description, ...examples] : examples
  return texts.length === 0 ? null : texts.join('\n')
}

function readChoice(value: unknown, tools: readonly Tool[]): { choice: ToolChoice | null; parallel: boolean | null } {
  if (!isGiven(value)) return { choice: null, parallel: null }
  if (!isObject(value)) refuse('tool_choice', 'It must be an object with a type.')
  const disabled = value.disable_parallel_tool_use
  const parallel = typeof disabled === 'boolean' ? !disabled : null
  const { type } = value
  if (type === 'auto' || type === 'none') return { choice: { mode: type, only: null }, parallel }
  if (tools.length === 0)
    refuse('tool_choice', 'No tool is there that could be called: send tools, or leave tool_choice out.')
  if (type === 'any') return { choice: { mode: 'required', only: null }, parallel }
  if (type !== 'tool') refuse('tool_choice.type', 'tool_choice must be auto, any, tool or none.')
  const name = readText(value.name)
  const chosen = tools.find((tool) => tool.name === name)
  if (!chosen) refuse('tool_choice.name', `There is no tool named ${name}: name one of tools.`)
  if (chosen.kind === 'hosted')
    refuse('tool_choice', `This model cannot be told to use the hosted tool ${name}: let tool_choice be auto.`)
  return { choice: { mode: 'required', only: [{ kind: 'function', name, namespace: null }] }, parallel }
}
