import { describe, expect, it } from 'vitest'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import { UsageScanner } from '../../src/gateway/dialects/tokens/usage-scanner.ts'
import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import type { Usage } from '../../src/gateway/dialects/tokens/usage.ts'
import { ALL_FIXTURES, fixture } from './streams.ts'

function read(...chunks: readonly Uint8Array[]): Usage {
  const reader = new UsageScanner()
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  return reader.end()
}

/** Whole, cut in two at every byte, and byte by byte. */
function readEveryWay(text: string | Uint8Array): Usage[] {
  const bytes = Buffer.from(text)
  const cuts = Array.from({ length: bytes.length }, (_, at) => read(bytes.subarray(0, at), bytes.subarray(at)))
  return [read(bytes), read(...Array.from(bytes, (byte) => Buffer.from([byte]))), ...cuts]
}

function expectUsage(text: string | Uint8Array, expected: Partial<Usage> | null): void {
  const wanted = { ...NO_USAGE, ...expected }
  const others = readEveryWay(text).filter((usage) => JSON.stringify(usage) !== JSON.stringify(wanted))
  expect(others).toEqual([])
}

const event = (data: object, name?: string) => `${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`

const MESSAGES_STREAM = [
  event(
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        content: [],
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 100,
          cache_read_input_tokens: 1000,
          cache_creation: { ephemeral_5m_input_tokens: 100 },
          output_tokens: 1,
          service_tier: 'standard',
        },
      },
    },
    'message_start',
  ),
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'The "usage":{' } }),
  'event: ping\ndata: {"type": "ping"}\n\n',
  event({ type: 'message_delta', delta: { stop_reason: null }, usage: { output_tokens: 20 } }, 'message_delta'),
  event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 42 } }, 'message_delta'),
  event({ type: 'message_stop' }, 'message_stop'),
].join('')

const TOOLS = [
  {
    type: 'function',
    name: 'report',
    parameters: {
      type: 'object',
      properties: { usage: { type: 'object', input_tokens: 7, output_tokens: 7 } },
    },
  },
]
const RESPONSE_USAGE = {
  input_tokens: 300,
  input_tokens_details: { cached_tokens: 200 },
  output_tokens: 50,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 350,
}

const responsesStream = (last: string) =>
  [
    event({ type: 'response.created', sequence_number: 0, response: { id: 'resp_1', tools: TOOLS, usage: null } }),
    event({ type: 'response.output_text.delta', sequence_number: 1, delta: '{"usage":{"input_tokens":9}}' }),
    event({
      type: last,
      sequence_number: 2,
      response: { id: 'resp_1', usage: RESPONSE_USAGE, tools: TOOLS, metadata: { usage: 'x' } },
    }),
  ].join('')

describe('the usage scanner', () => {
  it.each(ALL_FIXTURES)('finds the same in %s however its bytes are cut, as a parser finds in the whole', (name) => {
    expectUsage(fixture(name), byParsing(fixture(name)))
  })

  it('sets and never adds the numbers of a messages stream, and keeps cached input apart', () => {
    expectUsage(MESSAGES_STREAM, { inputTokens: 10, cacheReadTokens: 1000, cacheWriteTokens: 100, outputTokens: 42 })
  })

  it('sglang#20830, envoy#1631: zeros at the end of a messages stream leave the prompt of its start', () => {
    const zeros = { input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 43 }
    const last = event({ type: 'message_delta', delta: {}, usage: zeros }, 'message_delta')
    expectUsage(MESSAGES_STREAM + last, {
      inputTokens: 10,
      cacheReadTokens: 1000,
      cacheWriteTokens: 100,
      outputTokens: 43,
    })
  })

  it('bifrost#5510: a prompt that a messages stream splits at its end counts once', () => {
    const start = event({ type: 'message_start', message: { usage: { input_tokens: 1000, output_tokens: 0 } } })
    const split = { input_tokens: 0, cache_read_input_tokens: 1000, output_tokens: 7 }
    expectUsage(start + event({ type: 'message_delta', delta: {}, usage: split }), {
      inputTokens: 0,
      cacheReadTokens: 1000,
      outputTokens: 7,
    })
  })

  it('adds compactions and advisors within a call of the messages dialect, which its other counts leave out', () => {
    const iterations = [
      { type: 'compaction', input_tokens: 170_000, cache_read_input_tokens: 10_000, output_tokens: 3500 },
      {
        type: 'advisor_message',
        model: 'claude-opus-5',
        input_tokens: 2,
        cache_creation: { ephemeral_1h_input_tokens: 3 },
        output_tokens: 1,
      },
      { type: 'message', input_tokens: 23_000, output_tokens: 1000 },
    ]
    const usage = { input_tokens: 23_000, output_tokens: 1000, iterations }
    const expected = { inputTokens: 193_002, cacheReadTokens: 10_000, outputTokens: 4501 }
    expectUsage(JSON.stringify({ type: 'message', content: [], usage }), { ...expected, cacheWriteLongTokens: 3 })
    const start = event({ type: 'message_start', message: { usage: { input_tokens: 9, output_tokens: 1 } } })
    const end = event({ type: 'message_delta', delta: {}, usage: { ...usage, iterations: iterations.slice(0, 1) } })
    expect(read(Buffer.from(start + end))).toMatchObject({ inputTokens: 193_000, outputTokens: 4500 })
  })

  it('adds compactions up to the largest number that is plausible', () => {
    const most = { input_tokens: 0x7fff_ffff, output_tokens: 0x7fff_ffff }
    const iterations = [1, 2].map(() => ({ type: 'compaction', ...most }))
    expect(read(Buffer.from(JSON.stringify({ usage: { ...most, iterations } })))).toMatchObject({
      inputTokens: 0x7fff_ffff,
      outputTokens: 0x7fff_ffff,
    })
  })

  it('counts a call with many iterations', () => {
    const iterations = Array.from({ length: 200 }, () => ({ type: 'message', input_tokens: 1, output_tokens: 2 }))
    const usage = { input_tokens: 200, output_tokens: 400, iterations }
    expect(read(Buffer.from(JSON.stringify({ usage })))).toMatchObject({ inputTokens: 200, outputTokens: 400 })
  })

  it.each(['response.completed', 'response.incomplete', 'response.failed'])(
    'counts a responses stream that ends with %s',
    (last) => {
      expectUsage(responsesStream(last), {
        inputTokens: 100,
        cacheReadTokens: 200,
        outputTokens: 50,
        reasoningTokens: 30,
      })
    },
  )

  const usage = { prompt_tokens: 5, completion_tokens: 6, prompt_tokens_details: { cached_tokens: 4 } }
  const read5 = { inputTokens: 1, outputTokens: 6, cacheReadTokens: 4 }

  it.each([
    ['an event without a space behind `data:`', `data:${JSON.stringify({ choices: [], usage })}\n\n`, read5],
    ['CRLF line ends', `data: {"usage": null}\r\n\r\ndata: ${JSON.stringify({ usage })}\r\n\r\n`, read5],
    ['CR line ends', `data: ${JSON.stringify({ usage })}\r\rdata: [DONE]\r\r`, read5],
    [
      'an event over several data lines',
      'data: {"usage":\ndata: {"prompt_tokens": 5,\ndata: "completion_tokens":6}\ndata: }\n\n',
      { inputTokens: 5, outputTokens: 6 },
    ],
    ['comments between events', `: keep-alive\n\ndata: ${JSON.stringify({ usage })}\n\n: keep-alive\n\n`, read5],
    ['a last event that nothing follows', `data: ${JSON.stringify({ usage })}`, read5],
    ['a byte order mark', `\uFEFFdata: ${JSON.stringify({ usage })}\n\n`, read5],
    ['JSON in one line', JSON.stringify({ id: 'x', choices: [{ message: { content: '}]"usage":{' } }], usage }), read5],
    ['JSON with blank lines in it', `{\n\n"usage" : ${JSON.stringify(usage, null, 2)}\n\n,"service_tier": "x"}`, read5],
    ['usage before the content', JSON.stringify({ usage, choices: [{ message: { content: '{[\\"' } }] }), read5],
    ['usage as a word, not a key', JSON.stringify({ kind: 'usage', all: ['usage', { usage: 'x' }], usage }), read5],
    [
      'the arguments of a tool',
      JSON.stringify({ content: [{ type: 'tool_use', input: { usage: { input_tokens: 9 } } }], usage }),
      read5,
    ],
    [
      'the arguments of a tool behind',
      JSON.stringify({ usage, content: [{ type: 'tool_use', input: { usage: { input_tokens: 9 } } }] }),
      read5,
    ],
    [
      'usage in every chunk',
      [1, 2, 3].map((n) => event({ choices: [], usage: { ...usage, completion_tokens: n } })).join(''),
      { ...read5, outputTokens: 3 },
    ],
    [
      'chat with the names of a cache beside',
      JSON.stringify({ usage: { ...usage, cache_read_input_tokens: 4 } }),
      read5,
    ],
    [
      'numbers that are none',
      JSON.stringify({ usage: { prompt_tokens: '5', completion_tokens: -1, input_tokens: 1.5 } }),
      null,
    ],
    ['null', 'data: {"usage":null}\n\ndata: {"usage": null}\n\n', null],
    ['an object that never ends', 'data: {"usage":{"prompt_tokens":5\n\ndata: [DONE]\n\n', null],
    ['an answer cut in its last object', 'data: {"usage":{"prompt_tokens":5', null],
    ['no JSON at all', '<html>"usage":{</html>', null],
    ['nothing', '', null],
  ] as const)('reads %s', (_, text, expected) => {
    expectUsage(text, expected)
  })

  it('counts the bytes behind the last report', () => {
    const start = event({ type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } })
    const delta = event({ type: 'message_delta', usage: { output_tokens: 42 } })
    const reader = new UsageScanner()
    const countAfter = (text: string) => {
      reader.push(Buffer.from(text))
      return reader.unreportedBytes()
    }
    expect(countAfter(start)).toBe(0)
    expect([countAfter('x'.repeat(100)), countAfter('x'.repeat(50))]).toEqual([100, 150])
    expect(countAfter(delta)).toBe(0)
  })

  it('keeps a bounded part of an object that never ends', () => {
    const reader = new UsageScanner()
    reader.push(Buffer.from('{"usage":{"a":"'))
    for (let pushed = 0; pushed < 100; pushed++) reader.push(Buffer.alloc(64 * 1024, 'x'))
    reader.push(Buffer.from('","prompt_tokens":5}}'))
    expect(reader.end()).toEqual(NO_USAGE)
  })
})

/** What a whole parse of every event finds. */
function byParsing(bytes: Uint8Array): Partial<Usage> | null {
  const decoder = makeSseDecoder()
  const text = Buffer.from(bytes).toString()
  const data = text.startsWith('{') ? [text] : decoder.push(bytes).map((each) => each.data)
  const usages = data.map(parsed).flatMap((body) => (body?.usage ? [body.usage] : []))
  const counts = Object.assign({}, ...usages) as Record<string, number>
  const number = (value: unknown) => (typeof value === 'number' ? value : null)
  const details = counts['prompt_tokens_details'] as { cached_tokens?: number } | undefined
  const output = counts['completion_tokens_details'] as { reasoning_tokens?: number } | undefined
  const prompt = number(counts['prompt_tokens'])
  return {
    inputTokens: prompt === null ? null : prompt - (details?.cached_tokens ?? 0),
    outputTokens: number(counts['completion_tokens']),
    cacheReadTokens: number(details?.cached_tokens),
    reasoningTokens: number(output?.reasoning_tokens),
  }
}

function parsed(data: string): { usage?: object } | null {
  try {
    return JSON.parse(data) as { usage?: object } | null
  } catch {
    return null
  }
}
