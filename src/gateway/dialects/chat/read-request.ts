import { isObject } from '../../../kernel/json.ts'
import { readCount, readList, readName, readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { NeutralRequest } from '../neutral.ts'
import { readFormat } from '../read-format.ts'
import { readEffort, readLimit, readSampling, readStops } from '../read-settings.ts'
import { refuse, refuseMembers } from '../refusal.ts'
import type { ClientCall, TranslationContext } from '../translated-dialect.ts'
import { readChatHistory } from './read-history.ts'
import { readChatTools } from './read-tools.ts'
import { makeChatWriter } from './write-answer.ts'

/**
 * Reads a request of the chat dialect (OpenAI Chat Completions). It reads these fields: messages, tools, tool_choice,
 * parallel_tool_calls, max_completion_tokens or max_tokens, stop, temperature, top_p, top_k, logprobs, top_logprobs,
 * response_format, reasoning_effort or reasoning.effort, verbosity, user or safety_identifier, prompt_cache_key,
 * stream, stream_options.include_usage. Unknown fields, and fields that affect only cost or speed, are ignored. Throws
 * a refusal for a field that would change the answer and that the other dialects lack, and for one of another dialect.
 */
export function readChatRequest(body: Json, context: TranslationContext): ClientCall {
  refuseUnsupported(body)
  const request: NeutralRequest = {
    stream: body.stream === true,
    ...readChatTools(body),
    turns: readChatHistory(body, context),
    maxOutput: readLimit(body, 'max_completion_tokens') ?? readLimit(body, 'max_tokens'),
    stop: readStops(body, 'stop'),
    sampling: {
      temperature: readSampling(body, 'temperature'),
      topP: readSampling(body, 'top_p'),
      topK: readSampling(body, 'top_k'),
      logprobs: body.logprobs === true ? { top: readCount(body.top_logprobs) ?? 0, path: 'logprobs' } : null,
    },
    reasoning: { effort: readEffort(body), effortIsHint: false, show: null },
    format: readFormat(body.response_format, 'response_format', 'json_schema'),
    hints: {
      user: readName(body.safety_identifier) ?? readName(body.user),
      cacheKey: readName(body.prompt_cache_key),
      verbosity: readName(body.verbosity),
    },
  }
  const includeUsage = readObject(body.stream_options).include_usage === true
  return {
    request,
    argumentsAreObjects: false,
    makeAnswerWriter: () => makeChatWriter({ context, includeUsage }),
  }
}

function refuseUnsupported(body: Json): void {
  refuseMembers(body, OF_OTHER_DIALECTS)
  if ((readLimit(body, 'n') ?? 1) > 1)
    refuse('n', 'This model gives one answer at a time: set n to 1 and repeat the call.')
  for (const name of ['presence_penalty', 'frequency_penalty']) {
    if (readSampling(body, name) ?? 0) refuse(name, `This model has no ${name}: leave it out.`)
  }
  if (Object.keys(readObject(body.logit_bias)).length > 0)
    refuse('logit_bias', 'This model has no logit_bias: leave it out.')
  if (readList(body.modalities).includes('audio'))
    refuse('modalities', 'This model answers with text only: leave audio out.')
  for (const name of ['web_search_options', 'moderation']) {
    if (isObject(body[name])) refuse(name, `This model has no ${name}: leave it out.`)
  }
  if (readList(body.functions).length > 0)
    refuse('functions', 'Functions are not supported in this member: send them as tools.')
}

/** Members of the other dialects that would change the answer. Other unknown ones are options of some servers. */
const OF_OTHER_DIALECTS: Readonly<Record<string, string>> = {
  instructions: 'Chat completions have no instructions: send them as a message of the role system.',
  system: 'Chat completions have no system member: send it as a message of the role system.',
  input: 'Chat completions have no input: send it as messages.',
  max_output_tokens: 'Chat completions have no max_output_tokens: send it as max_completion_tokens.',
  stop_sequences: 'Chat completions have no stop_sequences: send them as stop.',
}
