import { isObject } from '../../../kernel/json.ts'
import { isGiven, parseObject, readCount, readName, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, OutputFormat, ReasoningOptions } from '../neutral.ts'
import { requireSchema } from '../read-format.ts'
import { readLimit, readSampling, readStops } from '../read-settings.ts'
import { refuse, refuseMembers, refuseRest } from '../refusal.ts'
import type { ClientCall, TranslationContext } from '../translated-dialect.ts'
import { readMessagesHistory } from './read-history.ts'
import { readMessagesTools } from './read-tools.ts'
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
  const stop = readStops(body, 'stop_sequences')
  const request: NeutralRequest = {
    stream: body.stream === true,
    ...readMessagesTools(body),
    turns: readMessagesHistory(body, context),
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
  compaction: 'This model cannot compact a conversation: ask for a summary in a message of the user.',
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
