import { clientMessageOf, FAILURES } from '../failures/failure-table.ts'
import type { Failure } from '../failures/failure.ts'
import { readObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { AnswerEvent, Finish, FinishEvent } from '../neutral.ts'
import type { SseEvent } from '../sse/decode.ts'
import { NO_USAGE, promptTokensOf, writtenTokens } from '../tokens/usage.ts'
import type { Usage } from '../tokens/usage.ts'
import type { AnswerWriter, TranslationContext } from '../translated-dialect.ts'
import { openItem } from './items.ts'
import type { OpenItem, ResponsesEvent } from './items.ts'

type Needs = {
  readonly context: TranslationContext
  /** The members of the request that every response object repeats. */
  readonly echo: Json
  /** Whether the client asked for sealed reasoning, which it then sends back. */
  readonly wantsSeals: boolean
  /** Whether the client shows refusals. For Codex, which does not, they are texts and failures. */
  readonly showsRefusals: boolean
  /** The text of the answer is a summary, which becomes an item `compaction`. */
  readonly compacts: boolean
}

/**
 * Makes a writer for an answer of the responses dialect. A stream is: created, in_progress, one item after the other
 * with all its parts, then completed, incomplete or failed with the whole `output`. A failure is always
 * `response.failed`, because agents ignore `error` events and report a stream without a last event as broken.
 */
export function makeResponsesWriter(needs: Needs): AnswerWriter {
  let sequence = 0
  const render = makeEvents(needs)
  const number = ({ type, ...members }: ResponsesEvent): SseEvent => ({
    event: type,
    data: JSON.stringify({ type, sequence_number: sequence++, ...members }),
  })
  return {
    write: (event) => render(event).map(number),
    // The last event of a stream holds the whole response.
    whole: (events) => readObject(events.flatMap(render).at(-1)?.response),
  }
}

/** Writes events without sequence numbers. */
function makeEvents({ context, echo, ...options }: Needs): (event: AnswerEvent) => ResponsesEvent[] {
  const id = context.newId('resp_')
  const output: Json[] = []
  let item: OpenItem | null = null
  let started = false

  function lifecycle(what: string, end: ResponseEnd): ResponsesEvent {
    return { type: `response.${what}`, response: toResponse({ id, context, echo, output, end }) }
  }

  function start(): ResponsesEvent[] {
    if (started) return []
    started = true
    return [lifecycle('created', IN_PROGRESS), lifecycle('in_progress', IN_PROGRESS)]
  }

  return (event) => {
    switch (event.type) {
      case 'start':
        return start()
      case 'open':
        item = openItem(event.part, { outputIndex: output.length, context, ...options })
        return item.open()
      case 'delta':
        return item?.delta(event.text, event.logprobs ?? []) ?? []
      case 'close': {
        if (!item) return []
        const closed = item.close(event)
        output.push(closed.item)
        return closed.events
      }
      case 'finish': {
        const end = toEnd(event, options)
        return [lifecycle(end.status, end)]
      }
      case 'fail':
        // Clients read the id of the response from the first event, so a failed stream has that event too.
        return [...start(), lifecycle('failed', toFailed(event.failure, event.usage))]
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

/** The reasons of an incomplete answer. With any other finish the answer is completed. */
const INCOMPLETE: Readonly<Partial<Record<Finish, string>>> = {
  length: 'max_output_tokens',
  context: 'max_output_tokens',
  filter: 'content_filter',
  blocked: 'content_filter',
}

/** For Codex, which repeats a call five times after `content_filter`, and shows this message and stops. */
const BLOCKED: Failure = {
  kind: 'filter',
  message: 'The vendor of this model refuses to continue this conversation. Start a new one, or go back a step.',
}

function toEnd({ finish, usage }: FinishEvent, { showsRefusals }: Pick<Needs, 'showsRefusals'>): ResponseEnd {
  if (finish === 'blocked' && !showsRefusals) return toFailed(BLOCKED, usage)
  const reason = INCOMPLETE[finish]
  return {
    status: reason === undefined ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    usage: toUsage(usage),
  }
}

function toFailed(failure: Failure, usage: Usage | null): ResponseEnd {
  return {
    status: 'failed',
    error: { code: FAILURES[failure.kind].streamCode, message: clientMessageOf(failure) },
    incomplete_details: null,
    usage: usage && toUsage(usage),
  }
}

/** Always writes both `details` members, because one agent retries an answer without them. */
function toUsage(usage: Usage | null): Json {
  const known = usage ?? NO_USAGE
  const [input, output] = [promptTokensOf(known), known.outputTokens ?? 0]
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: known.cacheReadTokens ?? 0, cache_write_tokens: 0, ...writtenTokens(known) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: known.reasoningTokens ?? 0 },
    total_tokens: input + output,
  }
}

type ResponseParts = {
  readonly id: string
  readonly context: TranslationContext
  readonly echo: Json
  readonly output: readonly Json[]
  readonly end: ResponseEnd
}

function toResponse({ id, context, echo, output, end }: ResponseParts): Json {
  return {
    id,
    object: 'response',
    access_programs: null,
    created_at: context.createdAt,
    status: end.status,
    background: false,
    error: end.error,
    incomplete_details: end.incomplete_details,
    model: context.model,
    output: [...output],
    previous_response_id: null,
    store: false,
    truncation: 'disabled',
    ...echo,
    usage: end.usage,
  }
}
