/** What a backend of each dialect answers to a scripted call: `Hello`, and the tokens that it reports. */
import type { Dialect } from '../../../src/gateway/dialects/dialect.ts'
import type { Tokens } from './scripted-calls.ts'

export type ScriptedAnswer = {
  readonly whole: object
  /** The events of a stream: up to the text, and the rest. */
  readonly begin: string
  readonly rest: string
  /** What a stream has reported after `begin`; null: nothing. */
  readonly begun: Tokens | null
}

type Numbered = { readonly tokens: Tokens; readonly number: number }

/** Writes the answer to the call with this number. */
export function toScriptedAnswer(dialect: Dialect, numbered: Numbered): ScriptedAnswer {
  return ANSWERS[dialect](numbered)
}

/** The event with which a stream begins that fails. That of a responses backend reports tokens. */
export function toErrorEvent(dialect: Dialect, usage: object): string {
  const error = { type: 'overloaded_error', code: 'overloaded', message: 'Overloaded.' }
  if (dialect === 'chat') return event({ error })
  if (dialect === 'messages') return event({ type: 'error', error })
  const response = { ...RESPONSE, status: 'failed', error, usage }
  return event({ type: 'response.failed', response })
}

/** The usage object of an answer. */
export function writeUsage(dialect: Dialect, tokens: Tokens): object {
  return USAGES[dialect](tokens)
}

const USAGES: Readonly<Record<Dialect, (tokens: Tokens) => object>> = {
  chat: (tokens) => ({
    prompt_tokens: promptOf(tokens),
    completion_tokens: tokens.output,
    total_tokens: promptOf(tokens) + tokens.output,
    prompt_tokens_details: writeDetails(tokens),
    completion_tokens_details: { reasoning_tokens: tokens.reasoning },
  }),
  responses: (tokens) => ({
    input_tokens: promptOf(tokens),
    input_tokens_details: writeDetails(tokens),
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: promptOf(tokens) + tokens.output,
  }),
  messages: ({ input, cacheRead, cacheWrite, cacheWriteLong, output, reasoning }) => ({
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite + cacheWriteLong,
    cache_creation: { ephemeral_5m_input_tokens: cacheWrite, ephemeral_1h_input_tokens: cacheWriteLong },
    output_tokens: output,
    output_tokens_details: { thinking_tokens: reasoning },
  }),
}

/** Chat completions and responses count cached tokens as a part of the input. */
function promptOf({ input, cacheRead, cacheWrite, cacheWriteLong }: Tokens): number {
  return input + cacheRead + cacheWrite + cacheWriteLong
}

function writeDetails({ cacheRead, cacheWrite, cacheWriteLong }: Tokens): object {
  return {
    cached_tokens: cacheRead,
    cache_write_tokens: cacheWrite + cacheWriteLong,
    cache_write_tokens_details: { ttl_12h_tokens: cacheWriteLong },
  }
}

const ANSWERS: Readonly<Record<Dialect, (numbered: Numbered) => ScriptedAnswer>> = {
  chat: answerChat,
  responses: answerResponses,
  messages: answerMessages,
}

const started = (tokens: Tokens): Tokens => ({ ...tokens, output: 1, reasoning: 0 })

function event({ type, ...data }: { readonly type?: string; readonly [name: string]: unknown }): string {
  return `${type ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...data })}\n\n`
}

function answerChat({ tokens, number }: Numbered): ScriptedAnswer {
  const usage = writeUsage('chat', tokens)
  const chunk = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  // Some servers report what was used so far in each chunk.
  const begun = number % 2 === 0 ? started(tokens) : null
  const first = { index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }
  const message = { role: 'assistant', content: 'Hello' }
  return {
    whole: { ...chunk, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage },
    begin: event({ ...chunk, choices: [first], usage: begun && writeUsage('chat', begun) }),
    rest:
      event({ ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }) +
      event({ ...chunk, choices: [], usage }) +
      'data: [DONE]\n\n',
    begun,
  }
}

const PART = { type: 'output_text', text: 'Hello', annotations: [] }
const ITEM = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [PART] }
const RESPONSE = { id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', output: [ITEM] }

function answerResponses({ tokens }: Numbered): ScriptedAnswer {
  const response = { ...RESPONSE, usage: writeUsage('responses', tokens) }
  const at = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  const begin = [
    { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [], usage: null } },
    { type: 'response.output_item.added', output_index: 0, item: { ...ITEM, status: 'in_progress', content: [] } },
    { type: 'response.content_part.added', ...at, part: { ...PART, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: 'Hello' },
  ]
  const rest = [
    { type: 'response.output_text.done', ...at, text: 'Hello' },
    { type: 'response.content_part.done', ...at, part: PART },
    { type: 'response.output_item.done', output_index: 0, item: ITEM },
    { type: 'response.completed', response },
  ]
  return { whole: response, begin: begin.map(event).join(''), rest: rest.map(event).join(''), begun: null }
}

function answerMessages({ tokens }: Numbered): ScriptedAnswer {
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm' }
  const usage = writeUsage('messages', tokens)
  const begun = started(tokens)
  const beginning = { ...message, content: [], stop_reason: null, usage: writeUsage('messages', begun) }
  const begin = [
    { type: 'message_start', message: beginning },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
  ]
  const { output: output_tokens, reasoning: thinking_tokens } = tokens
  const counted = { output_tokens, output_tokens_details: { thinking_tokens } }
  const rest = [
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: counted },
    { type: 'message_stop' },
  ]
  return {
    whole: { ...message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn', usage },
    begin: begin.map(event).join(''),
    rest: rest.map(event).join(''),
    begun,
  }
}
