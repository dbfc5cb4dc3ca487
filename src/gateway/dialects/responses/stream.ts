import type { NewId, StreamTranslator } from '../dialect.ts'
import type { Failure } from '../failure.ts'
import type { ChatUsage } from '../chat/chunk.ts'
import { type AnswerEvent, chatAnswer, type Finish, renderAnswer } from '../chat/answer.ts'
import type { Json } from '../json/read-json.ts'
import { type OpenItem, openItem, type ResponsesEvent } from './items.ts'
import type { ResponsesFacts } from './to-chat.ts'

export type ResponsesOptions = {
  /** The service model id, which the answer names. */
  readonly model: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly newId: NewId
  readonly facts: ResponsesFacts
}

/**
 * A chat stream as the full event sequence of the responses style: created, in_progress, one item after the other with all
 * of its parts, then completed, incomplete or failed with everything in `output`. A failure is always `response.failed`:
 * agents overlook `error` events and complain about a stream without an end.
 */
export function responsesStream(options: ResponsesOptions): StreamTranslator {
  const render = responsesEvents(options)
  const answer = chatAnswer({ newId: options.newId, argumentsMustBeObjects: false })
  let sequence = 0
  return renderAnswer(answer, (event) =>
    render(event).map(({ type, ...members }) => ({
      event: type,
      data: JSON.stringify({ type, sequence_number: sequence++, ...members }),
    })),
  )
}

/** The events of the responses style, not numbered yet, for those of a chat answer. */
export function responsesEvents(options: ResponsesOptions): (event: AnswerEvent) => ResponsesEvent[] {
  const id = options.newId('resp_')
  const output: Json[] = []
  let item: OpenItem | null = null
  let started = false

  function lifecycle(what: string, end: ResponseEnd): ResponsesEvent {
    return { type: `response.${what}`, response: toResponse(id, options, output, end) }
  }

  function start(): ResponsesEvent[] {
    if (started) return []
    started = true
    return [lifecycle('created', IN_PROGRESS), lifecycle('in_progress', IN_PROGRESS)]
  }

  function close(text: string, cut: boolean): ResponsesEvent[] {
    if (!item) return []
    const closed = item.close(text, cut)
    output.push(closed.item)
    return closed.events
  }

  return (event) => {
    switch (event.type) {
      case 'start':
        return start()
      case 'open':
        item = openItem(event.part, { outputIndex: output.length, newId: options.newId, tools: options.facts.tools })
        return item.open()
      case 'delta':
        return item?.delta(event.text) ?? []
      case 'close':
        return close(event.text, event.cut)
      case 'finish': {
        const end = toEnd(event.finish, event.usage)
        return [lifecycle(end.status, end)]
      }
      case 'fail':
        // The id of the response is in its first event, so a stream that only fails has one too.
        return [...start(), lifecycle('failed', toFailure(event.failure, event.usage))]
    }
  }
}

type ResponseEnd = {
  readonly status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  readonly error: Json | null
  readonly incomplete_details: Json | null
  readonly usage: Json | null
}

const IN_PROGRESS: ResponseEnd = { status: 'in_progress', error: null, incomplete_details: null, usage: null }

function toEnd(finish: Finish, usage: ChatUsage | null): ResponseEnd {
  const reason = finish === 'length' ? 'max_output_tokens' : finish === 'filter' ? 'content_filter' : null
  return {
    status: reason === null ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === null ? null : { reason },
    usage: toUsage(usage ?? NOTHING_REPORTED),
  }
}

/** Agents compact the conversation when they read `context_length_exceeded`. */
function toFailure({ kind, message }: Failure, usage: ChatUsage | null): ResponseEnd {
  const code = kind === 'context' ? 'context_length_exceeded' : 'server_error'
  return { status: 'failed', error: { code, message }, incomplete_details: null, usage: usage && toUsage(usage) }
}

const NOTHING_REPORTED: ChatUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0, reasoningTokens: 0 }

/** Both details are always there: an agent that misses one takes the answer for broken and asks again. */
function toUsage({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: ChatUsage): Json {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: promptTokens + completionTokens,
  }
}

function toResponse(id: string, options: ResponsesOptions, output: readonly Json[], end: ResponseEnd): Json {
  return {
    id,
    object: 'response',
    created_at: options.createdAt,
    status: end.status,
    background: false,
    error: end.error,
    incomplete_details: end.incomplete_details,
    model: options.model,
    output: [...output],
    previous_response_id: null,
    store: false,
    truncation: 'disabled',
    ...options.facts.echo,
    usage: end.usage,
  }
}
