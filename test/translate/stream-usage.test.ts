import { describe, expect, it } from 'vitest'
import { CHAT_STREAM_USAGE } from '../../src/gateway/dialects/chat/stream-usage.ts'

const INCLUDE = { stream_options: { include_usage: true } }

describe('the wish for the usage of a chat stream', () => {
  it.each([
    ['without options', {}, INCLUDE],
    ['with null', { stream_options: null }, INCLUDE],
    ['that does not want it', { stream_options: { include_usage: false } }, INCLUDE],
    [
      'with other options',
      { stream_options: { include_obfuscation: false } },
      { stream_options: { include_obfuscation: false, include_usage: true } },
    ],
    ['that has it', INCLUDE, null],
    ['with options that no server accepts', { stream_options: 'yes' }, null],
  ])('is added to a request %s only where it is missing', (_, body, expected) => {
    expect(CHAT_STREAM_USAGE.ask(body)).toEqual(expected)
  })
})

const chunk = (body: object, end = '\n\n') => `data: ${JSON.stringify(body)}${end}`
const usage = { prompt_tokens: 1, completion_tokens: 2 }
const TEXT = chunk({ choices: [{ index: 0, delta: { content: 'the "usage":{ of it' } }], usage: null })
const DONE = 'data: [DONE]\n\n'

function filter(...chunks: readonly Buffer[]): string {
  const made = CHAT_STREAM_USAGE.makeFilter()
  return Buffer.concat([...chunks.map((bytes) => made.push(bytes)), made.end()]).toString()
}

/** Whole, byte by byte, and cut in two at every byte. */
function filterEveryWay(text: string): Set<string> {
  const bytes = Buffer.from(text)
  const cuts = Array.from({ length: bytes.length }, (_, at) => filter(bytes.subarray(0, at), bytes.subarray(at)))
  return new Set([filter(bytes), filter(...Array.from(bytes, (byte) => Buffer.from([byte]))), ...cuts])
}

describe('the filter of a chat stream', () => {
  it.each([
    ['with LF', '\n\n'],
    ['with CRLF', '\r\n\r\n'],
    ['with CR', '\r\r'],
  ])('removes the chunk that only reports usage, %s, however the bytes are cut', (_, end) => {
    const before = TEXT.replace('\n\n', end)
    const stream = before + chunk({ id: 'é', choices: [], usage }, end) + `data: [DONE]${end}`
    expect(filterEveryWay(stream)).toEqual(new Set([`${before}data: [DONE]${end}`]))
  })

  it.each([
    ['a finish reason beside the usage', chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })],
    ['no choices and no usage', chunk({ choices: [], prompt_filter_results: [] })],
    ['an error', chunk({ error: { message: 'no' }, usage })],
    ['a comment about "usage":{}', ': "usage":{}\n\n'],
    ['data that is not JSON', 'data: "usage":{\n\n'],
  ])('keeps an event with %s', (_, event) => {
    expect(filterEveryWay(TEXT + event + DONE)).toEqual(new Set([TEXT + event + DONE]))
  })

  it('keeps an unfinished last event, and holds back no more than 64 KiB of one', () => {
    expect(filterEveryWay(`${TEXT}data: {"choices":[]`)).toEqual(new Set([`${TEXT}data: {"choices":[]`]))
    const made = CHAT_STREAM_USAGE.makeFilter()
    expect(made.push(Buffer.alloc(64 * 1024, 'x'))).toHaveLength(0)
    expect(made.push(Buffer.from('y'))).toHaveLength(64 * 1024 + 1)
  })

  it('hands on a chunk of whole events as it is, without a copy', () => {
    const bytes = Buffer.from(TEXT + TEXT)
    expect(CHAT_STREAM_USAGE.makeFilter().push(bytes).buffer).toBe(bytes.buffer)
  })
})
