import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { answersJson, startUpstream, streams } from './upstream.ts'
import type { Ending, SeenCall, Script, TestUpstream } from './upstream.ts'

/** What a server of each dialect says when all it says is `Hello`. */
const WHOLE: Readonly<Record<Dialect, object>> = {
  chat: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'large-2026',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'large-2026',
    output: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Hello', annotations: [] }],
      },
    ],
    usage: { input_tokens: 3, output_tokens: 1, total_tokens: 4 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'large-2026',
    content: [{ type: 'text', text: 'Hello' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 1 },
  },
}

const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'in_progress', content: [] }
const text = { item_id: 'msg_1', output_index: 0, content_index: 0 }

const EVENTS: Readonly<Record<Dialect, readonly object[]>> = {
  chat: [
    { ...chunk(), choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }] },
    { ...chunk(), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { ...chunk(), choices: [], usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 } },
  ],
  responses: [
    { type: 'response.created', response: { ...WHOLE.responses, status: 'in_progress', output: [] } },
    { type: 'response.output_item.added', output_index: 0, item: message },
    { type: 'response.content_part.added', ...text, part: { type: 'output_text', text: '', annotations: [] } },
    { type: 'response.output_text.delta', ...text, delta: 'Hello' },
    { type: 'response.output_text.done', ...text, text: 'Hello' },
    { type: 'response.completed', response: WHOLE.responses },
  ],
  messages: [
    { type: 'message_start', message: { ...WHOLE.messages, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
}

function chunk(): object {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'large-2026' }
}

/** The path of each dialect's calls at a server, and at the gateway. */
export const SERVER_PATHS: Readonly<Record<Dialect, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
}
export const GATEWAY_PATHS: Readonly<Record<Dialect, string>> = { ...SERVER_PATHS, messages: '/vendorb/v1/messages' }

/** Says `Hello` in a dialect, as a stream where the call asks for one. */
export function saysHello(dialect: Dialect): Script {
  const whole = answersJson(WHOLE[dialect])
  const stream = streamsHello(dialect)
  return (call) => (bodyOf(call).stream === true ? stream(call) : whole(call))
}

/** Says `Hello` as a stream, whatever the call asks for. */
export function streamsHello(dialect: Dialect, end: Ending = 'well'): Script {
  return streams(toEvents(dialect), { end })
}

/** Says `Hello` as a stream that then stalls. */
export function beginsHello(dialect: Dialect): Script {
  const events = toEvents(dialect)
  return streams(events.slice(0, 1 + events.findIndex((event) => event.includes('Hello'))), { end: 'stalls' })
}

export function startServer(dialect: Dialect): Promise<TestUpstream> {
  return startUpstream(saysHello(dialect))
}

function toEvents(dialect: Dialect): string[] {
  const events = EVENTS[dialect].map((event) => {
    const name = 'type' in event && typeof event.type === 'string' ? `event: ${event.type}\n` : ''
    return `${name}data: ${JSON.stringify(event)}\n\n`
  })
  return dialect === 'chat' ? [...events, 'data: [DONE]\n\n'] : events
}

/** A request that says `Hi`. */
export function greeting(dialect: Dialect, model: string, stream = false): object {
  const turn = [{ role: 'user', content: 'Hi' }]
  if (dialect === 'responses') return { model, input: turn, stream, store: false }
  return { model, messages: turn, stream, ...(dialect === 'messages' && { max_tokens: 100 }) }
}

export function bodyOf({ body }: Pick<SeenCall, 'body'>): Record<string, unknown> {
  return JSON.parse(body.toString()) as Record<string, unknown>
}
