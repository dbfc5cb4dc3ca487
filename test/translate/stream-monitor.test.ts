import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { DIALECTS } from '../../src/gateway/dialects/dialects.ts'
import { byteByByte } from '../support/upstream.ts'

/** The monitor of a stream after these chunks. */
function monitorAfter(dialect: Dialect, chunks: readonly string[]) {
  const monitor = DIALECTS[dialect].monitorStream({ untilClosed: false })
  for (const chunk of chunks) monitor.see(Buffer.from(chunk))
  return monitor
}

const FAILURE = { kind: 'failed', code: 'upstream_failed', type: 'api_error', message: 'It broke.' } as const

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

describe('a stream has passed completely', () => {
  const stop = 'event: message_stop\ndata: {"type":"message_stop"   }\n\n'
  const completed = (more: string) =>
    `event: response.completed\ndata: {"type":"response.completed","sequence_number":7,"response":{${more}}}\n\n`
  const sorted = (type: string) => `data: {"response":{"output":[]},"sequence_number":7,"type":"response.${type}"}\n\n`
  const tools = '"tools":[{"parameters":{"properties":{"sequence_number":{"type":"integer"}}}}]'
  const said = (text: string) => `data: ${JSON.stringify({ type: 'text_delta', text })}\n\n`

  it.each<[string, Dialect, readonly string[], boolean]>([
    ['with its last event', 'chat', ['data: {"a":1}\n\n', 'data: [DONE]\n\n'], true],
    ['with its last event in a larger chunk', 'chat', ['data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n'], true],
    ['before its last event', 'chat', ['data: {"a":1}\n\n'], false],
    ['within its last event', 'chat', ['data: [DONE]\n'], false],
    ['with the blank line in a chunk of its own', 'chat', ['data: [DONE]\n', '\n'], true],
    ['where the model only says so', 'chat', [said('data: [DONE]')], false],
    ['with its last event', 'messages', [stop], true],
    ['with a last event of two chunks', 'messages', [stop.slice(0, -9), stop.slice(-9)], true],
    ['before its last event', 'messages', ['event: ping\ndata: {"type":"ping"}\n\n'], false],
    ['where the model only says so', 'messages', [said('message_stop'), said('{"type":"message_stop"}')], false],
    ['with its last event', 'responses', [completed('')], true],
    ['with a last event of several chunks', 'responses', [completed('').slice(0, 93), '"output":[]}}\n\n'], true],
    ['within a last event of several chunks', 'responses', [completed('').slice(0, 93), '"output":['], false],
    ['with a last event whose type comes last, as vLLM', 'responses', [sorted('completed')], true],
    [
      'with such an event of two chunks',
      'responses',
      [sorted('failed').slice(0, -9), sorted('failed').slice(-9)],
      true,
    ],
    ['before such an event', 'responses', [sorted('in_progress')], false],
    [
      'where a tool only says so',
      'responses',
      ['data: {"response":{"tools":[{"const":{"type":"response.completed"}}]},"type":"response.created"}\n\n'],
      false,
    ],
    ['where a tool has an argument of the same name', 'responses', [completed(tools)], true],
    ['where only the rest of it has such a tool', 'responses', [completed('').slice(0, 93), `${tools}}}\n\n`], true],
    ['before its last event', 'responses', ['data: {"type":"response.created","sequence_number":0}\n\n'], false],
    ['where the model only says so', 'responses', [said('"type":"response.completed","sequence_number":7')], false],
    ['without any event', 'messages', [], false],
  ])('%s: %s %j', (_name, dialect, chunks, expected) => {
    expect(monitorAfter(dialect, chunks).isComplete()).toBe(expected)
  })
})

describe('a stream ends with a failure of its backend', () => {
  const error = 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Full."}}\n\n'
  const chatError = 'data: {"error":{"message":"Full."}}\n\n'
  const failed = (more: string) =>
    `event: response.failed\ndata: {"type":"response.failed","sequence_number":7,"response":{${more}}}\n\n`

  it.each<[string, Dialect, readonly string[], boolean]>([
    ['with its last event', 'messages', ['event: ping\ndata: {"type":"ping"}\n\n', error], true],
    ['with its last event in a larger chunk', 'messages', [`event: ping\ndata: {"type":"ping"}\n\n${error}`], true],
    ['not where it is complete', 'messages', ['event: message_stop\ndata: {"type":"message_stop"}\n\n'], false],
    ['not within its last event', 'messages', [error.slice(0, -1)], false],
    [
      'not where the model only says so',
      'messages',
      [`data: ${JSON.stringify({ type: 'x', text: error })}\n\n`],
      false,
    ],
    ['with its last event', 'chat', [chatError], true],
    ['with a last event of two chunks', 'chat', [chatError.slice(0, 9), chatError.slice(9)], true],
    ['before the regular last event', 'chat', [`${chatError}data: [DONE]\n\n`], true],
    ['before the regular last event in its own chunk', 'chat', [chatError, 'data: [DONE]\n\n'], true],
    [
      'before the regular last event',
      'messages',
      [error, 'event: message_stop\ndata: {"type":"message_stop"}\n\n'],
      true,
    ],
    ['not with an earlier event', 'chat', [chatError, 'data: {"choices":[]}\n\n', 'data: [DONE]\n\n'], false],
    ['not where it is complete', 'chat', ['data: {"choices":[],"error":null}\n\n', 'data: [DONE]\n\n'], false],
    ['with its last event', 'responses', [failed('')], true],
    ['with a last event of several chunks', 'responses', [failed('').slice(0, 87), '"output":[]}}\n\n'], true],
    [
      'with an error of the connection',
      'responses',
      ['event: error\ndata: {"type":"error","message":"Full."}\n\n'],
      true,
    ],
    ['not where it is complete', 'responses', [failed('').replaceAll('failed', 'completed')], false],
    ['not without any event', 'responses', [], false],
  ])('%s: %s %j', (_name, dialect, chunks, expected) => {
    expect(monitorAfter(dialect, chunks).hasFailed()).toBe(expected)
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
