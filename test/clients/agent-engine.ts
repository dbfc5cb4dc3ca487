import type { Script } from '../support/upstream.ts'

type Part = { type: string; text?: string; image_url?: { url: string } }
type Message = { role: string; content: string | Part[] | null; tool_calls?: { id: string }[] }
type ChatRequest = { model: string; messages: Message[]; tools?: object[]; stream?: boolean }
type Call = { id: string; type: 'function'; function: { name: string; arguments: string } }

/** The tool that the model calls. */
export const WEATHER = {
  name: 'weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
} as const

/**
 * A scripted model of the chat completions dialect. With tools it calls the weather tool for Paris and Oslo at the same
 * time, then for Rome, and then answers with all results. Without tools it repeats the last message and says how many
 * images it had.
 */
export const weatherModel: Script = ({ body, res }) => {
  const request = JSON.parse(body.toString()) as ChatRequest
  const answer = answerTo(request)
  if (request.stream)
    return void res.writeHead(200, { 'content-type': 'text/event-stream' }).end(toStream(request, answer))
  const { calls, text } = answer
  const message = { role: 'assistant', content: text, ...(calls.length > 0 && { tool_calls: calls }) }
  const choice = { index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }
  res
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ ...HEAD, object: 'chat.completion', model: request.model, choices: [choice], usage: USAGE }))
}

const HEAD = { id: 'chatcmpl-1', created: 1 }
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

type Answer = { readonly text: string | null; readonly calls: Call[] }

function answerTo({ messages, tools = [] }: ChatRequest): Answer {
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content))
  if (tools.length > 0 && results.length === 0) return { text: null, calls: [callOf('Paris', 1), callOf('Oslo', 2)] }
  if (tools.length > 0 && results.length === 2) return { text: 'And Rome.', calls: [callOf('Rome', 3)] }
  if (tools.length > 0) return { text: results.join(', '), calls: [] }
  const last = messages.at(-1)?.content ?? ''
  const images = typeof last === 'string' ? [] : last.filter(({ type }) => type === 'image_url')
  return { text: `${textOf(last)} (${images.length} images)`, calls: [] }
}

function textOf(content: string | Part[] | null): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('')
}

function callOf(city: string, nth: number): Call {
  return { id: `call_${nth}`, type: 'function', function: { name: 'weather', arguments: JSON.stringify({ city }) } }
}

/** Streams a text word by word. The arguments of several tool calls are cut into halves that alternate. */
function toStream({ model }: ChatRequest, { text, calls }: Answer): string {
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}) =>
    `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', model, choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`
  const half = (call: Call) => Math.floor(call.function.arguments.length / 2)
  return [
    chunk({ role: 'assistant', content: '' }),
    ...(text ?? '').split(/(?<= )/).map((word) => chunk({ content: word })),
    ...calls.map((call, index) =>
      chunk({
        tool_calls: [
          { ...call, index, function: { ...call.function, arguments: call.function.arguments.slice(0, half(call)) } },
        ],
      }),
    ),
    ...calls.map((call, index) =>
      chunk({ tool_calls: [{ index, function: { arguments: call.function.arguments.slice(half(call)) } }] }),
    ),
    chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'),
    `data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', model, choices: [], usage: USAGE })}\n\n`,
    'data: [DONE]\n\n',
  ].join('')
}

/** The result of the tool. */
export function weatherOf(args: unknown): string {
  const { city } = (typeof args === 'string' ? JSON.parse(args) : args) as { city: string }
  return `${city}: sun`
}

/** The last answer of the model. */
export const ALL_WEATHER = 'Paris: sun, Oslo: sun, Rome: sun'
