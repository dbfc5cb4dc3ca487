import { writeOpenAiError } from '../failures/openai-error.ts'
import type { Json } from '../json/read-json.ts'
import type { CloseEvent, DeltaEvent, Finish, FinishEvent, OpenPart, ToolRef } from '../neutral.ts'
import { writeUrlCitation } from '../parts/citations.ts'
import type { SseEvent } from '../sse/decode.ts'
import { NO_USAGE, promptTokensOf, writtenTokens } from '../tokens/usage.ts'
import type { Usage } from '../tokens/usage.ts'
import { toCallId } from '../tools/call-ids.ts'
import type { AnswerWriter, TranslationContext } from '../translated-dialect.ts'

type Needs = {
  readonly context: TranslationContext
  /** Whether the client asked for a last chunk with the usage. */
  readonly includeUsage: boolean
}

/**
 * Makes a writer for an answer of the chat dialect. A stream is: a chunk with the role; chunks for reasoning, text,
 * refusal and calls; the finish reason; the usage if the client asked for it; `[DONE]`. A failure ends a stream with an
 * error chunk and without `[DONE]`.
 */
export function makeChatWriter({ context, includeUsage }: Needs): AnswerWriter {
  const head = { id: context.newId('chatcmpl-'), created: context.createdAt, model: context.model }
  const sealed: string[] = []
  const toAnnotations = makeToAnnotations()
  let calls = 0

  const toChunk = (delta: Json, more: Json = {}): SseEvent =>
    toEvent({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    })

  function toOpen(part: OpenPart): SseEvent[] {
    if (part.kind !== 'tool') return []
    const signature = calls === 0 ? toSignature(sealed) : {}
    return [toChunk({ tool_calls: [{ index: calls++, ...toCall(part, ''), ...signature }] })]
  }

  function toDelta({ part, text, logprobs }: DeltaEvent): SseEvent[] {
    if (text === '' || part.kind === 'search') return []
    if (part.kind === 'tool') return [toChunk({ tool_calls: [{ index: calls - 1, ...toPiece(part.tool, text) }] })]
    return [toChunk({ [MEMBERS[part.kind]]: text }, logprobs && { logprobs: toLogprobs(logprobs) })]
  }

  /** The seal is sent in one chunk, because clients overwrite members that they do not know with each chunk. */
  function toClose(event: CloseEvent): SseEvent[] {
    const annotations = toAnnotations(event)
    const seal = writeSeal(event, context)
    if (seal !== null) sealed.push(seal)
    return [
      ...(annotations.length > 0 ? [toChunk({ annotations })] : []),
      ...(seal === null ? [] : [toChunk({ reasoning_details: [toDetail(seal)] })]),
    ]
  }

  function toEnd({ finish, stopSequence, usage }: FinishEvent): SseEvent[] {
    const last = { ...head, object: 'chat.completion.chunk', choices: [], usage: toUsage(usage) }
    return [
      toChunk({}, { finish_reason: REASONS[finish], ...toStopReason(stopSequence) }),
      ...(includeUsage ? [toEvent(last)] : []),
      { event: null, data: '[DONE]' },
    ]
  }

  return {
    write(event) {
      switch (event.type) {
        case 'start':
          return [toChunk({ role: 'assistant', content: '' })]
        case 'open':
          return toOpen(event.part)
        case 'delta':
          return toDelta(event)
        case 'close':
          return toClose(event)
        case 'finish':
          return toEnd(event)
        case 'fail':
          return [toEvent({ error: writeOpenAiError(event.failure) })]
      }
    },
    whole(events) {
      const end = events.find((event) => event.type === 'finish')
      const parts = events.filter((event) => event.type === 'close')
      const message = toMessage(parts, context)
      const found = parts.flatMap(({ logprobs = [] }) => logprobs)
      const logprobs = found.length > 0 ? toLogprobs(found) : null
      const finish_reason = REASONS[end?.finish ?? 'stop']
      const choice = { index: 0, message, logprobs, finish_reason, ...toStopReason(end?.stopSequence ?? null) }
      return { ...head, object: 'chat.completion', choices: [choice], usage: toUsage(end?.usage ?? null) }
    },
  }
}

/** Names the stop sequence as vLLM does. The vendor does not say it. */
function toStopReason(stopSequence: string | null): Json {
  return stopSequence === null ? {} : { stop_reason: stopSequence }
}

const MEMBERS = { reasoning: 'reasoning_content', text: 'content', refusal: 'refusal' } as const

const REASONS: Readonly<Record<Finish, string>> = {
  stop: 'stop',
  stopSequence: 'stop',
  length: 'length',
  context: 'length',
  tools: 'tool_calls',
  filter: 'content_filter',
  blocked: 'content_filter',
  refusal: 'stop',
  pause: 'stop',
}

function toMessage(parts: readonly CloseEvent[], context: TranslationContext): Json {
  const textOf = (kind: 'reasoning' | 'text' | 'refusal'): string | null => {
    const said = parts.filter(({ part }) => part.kind === kind)
    return said.length === 0 ? null : said.map(({ text }) => text).join('')
  }
  const sealed = parts.flatMap((event) => writeSeal(event, context) ?? [])
  const calls = parts.flatMap(({ part, text }) => (part.kind === 'tool' ? [toCall(part, text)] : []))
  const reasoning = textOf('reasoning')
  const [first, ...others] = calls
  const annotations = parts.flatMap(makeToAnnotations())
  return {
    role: 'assistant',
    content: textOf('text'),
    refusal: textOf('refusal'),
    ...(reasoning !== null && { reasoning_content: reasoning }),
    ...(sealed.length > 0 && { reasoning_details: sealed.map(toDetail) }),
    ...(annotations.length > 0 && { annotations }),
    ...(first && { tool_calls: [{ ...first, ...toSignature(sealed) }, ...others] }),
  }
}

/** Makes the function that writes the citations of each part of an answer, whose texts the dialect joins. */
function makeToAnnotations(): (event: CloseEvent) => Json[] {
  let textLength = 0
  return ({ part, citations = [], text }) => {
    const offset = textLength
    if (part.kind === 'text') textLength += text.length
    return citations.map((citation) => ({
      type: 'url_citation',
      url_citation: writeUrlCitation(citation, text, offset),
    }))
  }
}

function toLogprobs(content: readonly unknown[]): Json {
  return { content, refusal: null }
}

function toCall({ id, tool }: Extract<OpenPart, { kind: 'tool' }>, text: string): Json {
  const call = { id: toCallId(id), type: tool.kind }
  return tool.kind === 'custom'
    ? { ...call, custom: { name: tool.name, input: text } }
    : { ...call, function: { name: tool.name, arguments: text } }
}

function toPiece({ kind }: ToolRef, text: string): Json {
  return kind === 'custom' ? { custom: { input: text } } : { function: { arguments: text } }
}

/** Seals a part for the client to send back; null when there is nothing to seal. */
function writeSeal({ seal, text }: CloseEvent, { seals }: TranslationContext): string | null {
  return seals && seal ? seals.write(seal, text) : null
}

function toDetail(data: string): Json {
  return { type: 'reasoning.encrypted', format: 'svc1', data }
}

/** The seals in the member that Gemini clients keep with a tool call and send back. */
function toSignature(sealed: readonly string[]): Json {
  return sealed.length === 0 ? {} : { extra_content: { google: { thought_signature: sealed.join(' ') } } }
}

function toUsage(usage: Usage | null): Json {
  const known = usage ?? NO_USAGE
  const [prompt, output] = [promptTokensOf(known), known.outputTokens ?? 0]
  return {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: known.cacheReadTokens ?? 0, ...writtenTokens(known) },
    completion_tokens_details: { reasoning_tokens: known.reasoningTokens ?? 0 },
  }
}

function toEvent(body: Json): SseEvent {
  return { event: null, data: JSON.stringify(body) }
}
