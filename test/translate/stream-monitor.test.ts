import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { byteByByte } from '../support/upstream.ts'

const FAILURE = { code: 'upstream_failed', type: 'api_error', message: 'It broke.' }

describe('a failure event can be written', () => {
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
      const monitor = DIALECTS.chat.monitorStream({ untilClosed: false })
      chunks.forEach((chunk) => monitor.see(chunk))
      expect(monitor.failure(FAILURE) !== null).toBe(expected)
    }
  })
})

describe('the end of a stream that only closes', () => {
  it.each<[Dialect, string, boolean]>([
    ['chat', 'data: {"a":1}\n\ndata: [DONE]\n\n', true],
    ['chat', 'data: {"a":1}\n\n', false],
    ['messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    ['messages', 'event: message_delta\ndata: {"type":"message_delta"}\n\n', false],
    ['responses', 'event: response.completed\ndata: {}\n\n', true],
    ['responses', 'event: response.incomplete\ndata: {}\n\n', true],
    ['responses', 'event: response.failed\ndata: {}\n\n', true],
    ['responses', 'event: response.in_progress\ndata: {}\n\n', false],
  ])('is found in a %s stream however it is cut: %j', (dialect, sent, expected) => {
    for (const chunks of [[Buffer.from(sent)], byteByByte(sent)]) {
      const monitor = DIALECTS[dialect].monitorStream({ untilClosed: true })
      chunks.forEach((chunk) => monitor.see(chunk))
      expect(monitor.hasEnded()).toBe(expected)
    }
  })

  it('is left to the transport where that can tell', () => {
    expect(DIALECTS.chat.monitorStream({ untilClosed: false }).hasEnded()).toBe(true)
  })
})

describe('a failed response', () => {
  it('has a sequence number and an id even before any event', () => {
    const event = DIALECTS.responses.monitorStream({ untilClosed: false }).failure(FAILURE) ?? ''
    expect(event).toMatch(/^event: response\.failed\ndata: .*\n\n$/)
    expect(JSON.parse(event.split('data: ')[1] ?? '')).toMatchObject({
      type: 'response.failed',
      sequence_number: 0,
      response: { id: 'resp_unknown', status: 'failed', error: { code: 'upstream_failed', message: 'It broke.' } },
    })
  })
})
