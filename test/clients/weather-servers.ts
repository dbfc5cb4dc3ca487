import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { readList, readObject, readText } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { bodyOf } from '../support/dialect-servers.ts'
import type { Script } from '../support/upstream.ts'
import { toVendorStream } from '../translate/vendor-streams.ts'

type Call = { readonly id: string; readonly args: string }
type Turn = { readonly text: string; readonly calls: readonly Call[] }

/**
 * A vendor of one dialect. With tools it calls the weather tool for Paris and Oslo at the same time, then for Rome, and
 * then answers with all results. Without tools it repeats the last message.
 */
export function weatherVendor(dialect: Dialect): Script {
  return (call) => {
    const body = bodyOf(call)
    const answer = WRITE[dialect](answerTo(READ[dialect](body)))
    if (body.stream !== true) {
      return void call.res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    }
    const events = toVendorStream(dialect, answer).map(encodeEvent)
    call.res.writeHead(200, { 'content-type': 'text/event-stream' }).end(events.join(''))
  }
}

type Asked = { readonly hasTools: boolean; readonly results: readonly string[]; readonly last: string }

function answerTo({ hasTools, results, last }: Asked): Turn {
  if (!hasTools) return { text: last, calls: [] }
  if (results.length === 0) return { text: 'Two at once.', calls: [callOf('Paris', 1), callOf('Oslo', 2)] }
  if (results.length === 2) return { text: 'And Rome.', calls: [callOf('Rome', 3)] }
  return { text: results.join(', '), calls: [] }
}

function callOf(city: string, nth: number): Call {
  return { id: `call_${nth}`, args: JSON.stringify({ city }) }
}

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : readList(content)
        .map((part) => readText(readObject(part).text))
        .join('')

const READ: Readonly<Record<Dialect, (body: Json) => Asked>> = {
  chat({ messages, tools }) {
    const list = readList(messages).map(readObject)
    const results = list.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content))
    return { hasTools: readList(tools).length > 0, results, last: textOf(list.at(-1)?.content) }
  },
  responses({ input, tools }) {
    const list = readList(input).map(readObject)
    const results = list.filter(({ type }) => type === 'function_call_output').map(({ output }) => textOf(output))
    return { hasTools: readList(tools).length > 0, results, last: textOf(list.at(-1)?.content) }
  },
  messages({ messages, tools }) {
    const list = readList(messages).map(readObject)
    const blocks = list.flatMap(({ content }) => readList(content).map(readObject))
    const results = blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => textOf(content))
    return { hasTools: readList(tools).length > 0, results, last: textOf(list.at(-1)?.content) }
  },
}

const WRITE: Readonly<Record<Dialect, (turn: Turn) => Json>> = {
  chat: ({ text, calls }) => ({
    ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm' },
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text,
          ...(calls.length > 0 && {
            tool_calls: calls.map(({ id, args }) => {
              return { id, type: 'function', function: { name: 'weather', arguments: args } }
            }),
          }),
        },
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  responses: ({ text, calls }) => ({
    ...{ id: 'resp_1', object: 'response', created_at: 1, status: 'completed', model: 'm', error: null, tools: [] },
    incomplete_details: null,
    output: [
      {
        ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      },
      ...calls.map(({ id, args }) => {
        const call = { type: 'function_call', id: `fc_${id}`, call_id: id, status: 'completed' }
        return { ...call, name: 'weather', arguments: args }
      }),
    ],
    usage: {
      ...{ input_tokens: 10, output_tokens: 5, total_tokens: 15 },
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    },
  }),
  messages: ({ text, calls }) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_sequence: null },
    content: [
      { type: 'text', text },
      ...calls.map(({ id, args }) => ({ type: 'tool_use', id, name: 'weather', input: JSON.parse(args) as object })),
    ],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  }),
}
