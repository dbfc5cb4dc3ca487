import { isObject } from '../../../kernel/json.ts'
import { isGiven, readCount, readList, readName, readObject, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest, Tool } from '../neutral.ts'
import { readFormat } from '../read-format.ts'
import { readEffort, readLimit, readSampling } from '../read-settings.ts'
import { refuse, refuseMembers, refuseRest } from '../refusal.ts'
import type { ClientCall, TranslationContext } from '../translated-dialect.ts'
import { isCompaction } from './compaction.ts'
import { readResponsesHistory } from './read-history.ts'
import { readResponsesTools } from './read-tools.ts'
import { makeResponsesWriter } from './write-answer.ts'

/**
 * Reads a request of the responses dialect (OpenAI Responses API). It reads these fields: input, instructions, tools,
 * tool_choice, parallel_tool_calls, max_output_tokens, temperature, top_p, top_logprobs, text, reasoning or
 * reasoning_effort, include, user or safety_identifier, prompt_cache_key, stream. Unknown fields, and fields that
 * affect only cost or speed, are ignored. Throws a refusal for a field that relies on stored state or a service of the
 * vendor, or that belongs to another dialect.
 */
export function readResponsesRequest(body: Json, context: TranslationContext): ClientCall {
  refuseUnsupported(body)
  const tools = readResponsesTools(body)
  const reasoning = readObject(body.reasoning)
  const compacts = isCompaction(body)
  const request: NeutralRequest = {
    stream: body.stream === true,
    ...tools,
    // A summary calls no tools. They stay, because some backends refuse earlier calls without them.
    choice: compacts ? { mode: 'none', only: null } : tools.choice,
    turns: readResponsesHistory(body, context),
    maxOutput: readLimit(body, 'max_output_tokens'),
    stop: [],
    sampling: {
      temperature: readSampling(body, 'temperature'),
      topP: readSampling(body, 'top_p'),
      topK: null,
      logprobs: readLogprobs(body),
    },
    reasoning: {
      effort: readEffort(body),
      effortIsHint: false,
      // `generate_summary` is the old name of `summary`.
      show: readName(reasoning.summary ?? reasoning.generate_summary) === null ? null : true,
    },
    format: compacts ? null : readFormat(readObject(body.text).format, 'text.format'),
    hints: {
      user: readName(body.safety_identifier) ?? readName(body.user),
      cacheKey: readName(body.prompt_cache_key),
      verbosity: readName(readObject(body.text).verbosity),
    },
  }
  const wantsSeals = Array.isArray(body.include) && body.include.includes('reasoning.encrypted_content')
  return {
    request,
    argumentsAreObjects: false,
    isSummary: compacts,
    makeAnswerWriter: (withheld) =>
      makeResponsesWriter({
        context,
        echo: toEcho(body, withheld),
        wantsSeals,
        showsRefusals: !context.isCodex,
        compacts,
      }),
  }
}

function refuseUnsupported(body: Json): void {
  if (isGiven(body.previous_response_id)) {
    refuseRest('previous_response_id', NO_RESPONSES, 'previous_response_not_found')
  }
  refuseMembers(body, NEEDS_STATE)
  refuseMembers(body, OF_OTHER_DIALECTS)
  if (isObject(body.moderation)) refuse('moderation', 'This model has no moderation: leave it out.')
}

const NO_RESPONSES = 'Responses are not stored here: set store: false and send the whole conversation as input.'

const NEEDS_STATE: Readonly<Record<string, string>> = {
  conversation: 'Conversations are not stored here: set store: false and send the whole conversation as input.',
  prompt: 'Prompts are not stored here: send the text as instructions and input.',
}

/** Members of the other dialects that would change the answer. */
const OF_OTHER_DIALECTS: Readonly<Record<string, string>> = {
  messages: 'Responses have no messages: send them as input.',
  system: 'Responses have no system member: send it as instructions.',
  max_tokens: 'Responses have no max_tokens: send it as max_output_tokens.',
  max_completion_tokens: 'Responses have no max_completion_tokens: send it as max_output_tokens.',
  response_format: 'Responses have no response_format: send it as text.format.',
  stop: 'Responses have no stop sequences: leave stop out.',
  stop_sequences: 'Responses have no stop sequences: leave stop_sequences out.',
}

/** A client asks for log probabilities by `include`, for alternatives by `top_logprobs`, or by both. */
function readLogprobs({ include, top_logprobs: count }: Json): NeutralRequest['sampling']['logprobs'] {
  const top = readCount(count) ?? 0
  const isAsked = top > 0 || readList(include).includes(LOGPROBS)
  return isAsked ? { top, path: top > 0 ? 'top_logprobs' : 'include' } : null
}

const LOGPROBS = 'message.output_text.logprobs'

/** Returns the members of a request that every response object repeats. Withheld tools are left out. */
function toEcho(body: Json, withheld: readonly Tool[]): Json {
  const missing = new Set(withheld.flatMap((tool) => (tool.kind === 'hosted' ? [tool.type] : [])))
  const tools: readonly unknown[] = Array.isArray(body.tools) ? body.tools : []
  return {
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    reasoning: body.reasoning ?? { effort: null, summary: null },
    temperature: body.temperature ?? null,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: tools.filter((tool) => !missing.has(readText(readObject(tool).type))),
    top_p: body.top_p ?? null,
    user: body.user ?? null,
  }
}
