import { describe, expect, it } from 'vitest'
import { watchStream } from '../../src/gateway/upstream/stream-watch.ts'
import type { Style } from '../../src/gateway/upstream/stream-watch.ts'
import { byteByByte } from '../support/upstream.ts'

const FAILURE = { code: 'upstream_failed', type: 'api_error', message: 'It broke.' }

describe('whether a failure can be told', () => {
  it.each<[string, string, boolean]>([
    ['before anything was sent', '', true],
    ['after an event', 'data: 1\n\n', true],
    ['after an event with CRLF', 'data: 1\r\n\r\n', true],
    ['after an event with CR', 'data: 1\r\r', true],
    ['after an event with mixed ends', 'data: 1\n\r\n', true],
    ['after a comment', 'data: 1\n\n: ping\n\n', true],
    ['inside a line', 'data: 1', false],
    ['after one line of an event', 'data: 1\n', false],
    ['after one line with CRLF', 'data: 1\r\n', false],
    ['between CR and LF', 'data: 1\r\n\r', false],
  ])('%s', (_name, sent, expected) => {
    for (const chunks of [[Buffer.from(sent)], byteByByte(sent)]) {
      const watch = watchStream('chat', { untilClosed: false })
      chunks.forEach((chunk) => watch.see(chunk))
      expect(watch.failure(FAILURE) !== null).toBe(expected)
    }
  })
})

describe('the end of a stream that only closes', () => {
  it.each<[Style, string, boolean]>([
    ['chat', 'data: {"a":1}\n\ndata: [DONE]\n\n', true],
    ['chat', 'data: {"a":1}\n\n', false],
    ['messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    ['messages', 'event: message_delta\ndata: {"type":"message_delta"}\n\n', false],
    ['responses', 'event: response.completed\ndata: {}\n\n', true],
    ['responses', 'event: response.incomplete\ndata: {}\n\n', true],
    ['responses', 'event: response.failed\ndata: {}\n\n', true],
    ['responses', 'event: response.in_progress\ndata: {}\n\n', false],
  ])('in the %s style, %j, is found however it is cut', (style, sent, expected) => {
    for (const chunks of [[Buffer.from(sent)], byteByByte(sent)]) {
      const watch = watchStream(style, { untilClosed: true })
      chunks.forEach((chunk) => watch.see(chunk))
      expect(watch.hasEnded()).toBe(expected)
    }
  })

  it('is taken from the transport where that can tell', () => {
    expect(watchStream('chat', { untilClosed: false }).hasEnded()).toBe(true)
  })
})

describe('a failed response', () => {
  it('before any event has a number and an id all the same', () => {
    const event = watchStream('responses', { untilClosed: false }).failure(FAILURE) ?? ''
    expect(event).toMatch(/^event: response\.failed\ndata: .*\n\n$/)
    expect(JSON.parse(event.split('data: ')[1] ?? '')).toMatchObject({
      type: 'response.failed',
      sequence_number: 0,
      response: { id: 'resp_unknown', status: 'failed', error: { code: 'upstream_failed', message: 'It broke.' } },
    })
  })
})
