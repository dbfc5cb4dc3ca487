import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Outcome } from '../../src/gateway/exchange/outcome.ts'
import { UNREADABLE } from '../../src/gateway/exchange/unreadable-answer.ts'
import { CHAT_EVENTS, dataOf, readAnswer, startRelay, UNANSWERED } from '../support/relay.ts'
import { neverAnswers, startUpstream, streams, writesRaw } from '../support/upstream.ts'
import type { Ending, Script } from '../support/upstream.ts'

describe('an upstream that fails before its answer', () => {
  it('is unreachable when it refuses the connection', async () => {
    const upstream = await startUpstream()
    await upstream[Symbol.asyncDispose]()
    const relay = await startRelay(neverAnswers, { url: upstream.url })
    await relay.post()
    expect(await relay.outcome()).toMatchObject({
      kind: 'unreachable',
      answered: false,
      status: null,
      reason: 'ECONNREFUSED',
    })
  })

  it.each<[string, Script, Outcome['kind']]>([
    ['says nothing', neverAnswers, 'timeout'],
    ['closes the connection', ({ socket }) => socket.destroySoon(), 'failed'],
    ['resets the connection', ({ socket }) => socket.resetAndDestroy(), 'failed'],
    ['sends garbage', writesRaw('\x00\x01 ohai \r\n\r\n'), 'failed'],
    ['sends half a head', writesRaw('HTTP/1.1 200 OK\r\ncontent-ty'), 'failed'],
    ['sends a head that is too large', writesRaw(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(200_000)}\r\n\r\n`), 'failed'],
    ['sends a status that is none', writesRaw('HTTP/1.1 099 What\r\ncontent-length: 0\r\n\r\n'), 'failed'],
    [
      'breaks off in the middle of its JSON',
      writesRaw('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"a":'),
      'failed',
    ],
    [
      'falls silent in the middle of its JSON',
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{"a":'),
      'timeout',
    ],
  ])('leaves the answer to the handler when it %s', async (_name, script, kind) => {
    const relay = await startRelay(script, { idleTimeoutMs: 300 })
    const { answer } = await relay.post().then(readAnswer)
    const refusal = { code: kind === 'timeout' ? 'upstream_timeout' : 'upstream_failed' }
    expect(await relay.outcome()).toMatchObject({ kind, answered: false, refusal })
    expect(answer.statusCode).toBe(UNANSWERED)
  })
})

it.each([
  ['100 Continue', 'unasked_continue', '\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
  ['101 Switching Protocols', 'unasked_upgrade', 'upgrade: h2c\r\nconnection: upgrade\r\n\r\n'],
] as const)('an upstream that says %s without being asked is named as the cause', async (status, reason, rest) => {
  const relay = await startRelay(writesRaw(`HTTP/1.1 ${status}\r\n${rest}`))
  await relay.post().then(readAnswer)
  const refusal = { code: 'upstream_failed', message: UNREADABLE[reason] }
  expect(await relay.outcome()).toMatchObject({ kind: 'failed', reason, refusal })
})

describe('an upstream that fails in the middle of a stream', () => {
  const first = CHAT_EVENTS[0]

  it.each<[Ending, string]>([
    ['breaks', 'upstream_failed'],
    ['resets', 'upstream_failed'],
    ['stalls', 'upstream_timeout'],
  ])('has its stream end with an error and without a clean end when it %s', async (end, code) => {
    const relay = await startRelay(streams([first], { end }), { idleTimeoutMs: 300 })
    const { text, ended } = await relay.post().then(readAnswer)
    expect(text.startsWith(first)).toBe(true)
    expect(dataOf(text.slice(first.length))).toMatchObject({ error: { code, type: 'api_error' } })
    expect(text).not.toContain('[DONE]')
    expect(ended).toBe('broken')
    expect(await relay.outcome()).toMatchObject({ kind: 'cut', answered: true, status: 200 })
  })

  it('has nothing added to its stream when it breaks off in the middle of an event', async () => {
    const half = first.slice(0, -5)
    const relay = await startRelay(streams([first, half], { end: 'breaks' }))
    expect(await relay.post().then(readAnswer)).toMatchObject({ text: first + half, ended: 'broken' })
  })

  it('has its messages stream end with an error event', async () => {
    const event = 'event: ping\ndata: {"type": "ping"}\n\n'
    const relay = await startRelay(streams([event], { end: 'breaks' }), { dialect: 'messages' })
    const { text, ended } = await relay.post().then(readAnswer)
    expect(text.slice(event.length)).toMatch(/^event: error\n/)
    expect(dataOf(text.slice(event.length))).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    // Some clients report a broken connection in place of the failure.
    expect(ended).toBe('well')
  })

  it('has its responses stream end with response.failed of the same response', async () => {
    const created =
      'event: response.created\r\ndata: {"type":"response.created",' +
      '"response":{"id":"resp_7","created_at":17,"model":"m"},"sequence_number":0}\r\n\r\n'
    const delta =
      'event: response.output_text.delta\r\n' +
      'data: {"type":"response.output_text.delta","sequence_number": 41,"delta":"x"}\r\n\r\n'
    const relay = await startRelay(streams([created, delta], { end: 'breaks' }), { dialect: 'responses' })
    const { text, ended } = await relay.post().then(readAnswer)
    expect(dataOf(text.slice(created.length + delta.length))).toMatchObject({
      type: 'response.failed',
      sequence_number: 42,
      response: { id: 'resp_7', created_at: 17, model: 'm', status: 'failed', error: { code: 'upstream_failed' } },
    })
    // Codex reports a broken connection in place of the failure.
    expect(ended).toBe('well')
  })

  it.each<[Dialect, string, string]>([
    ['chat', first, 'data: {"error":{"message":"Overloaded."}}\n\n'],
    ['messages', 'event: ping\ndata: {"type":"ping"}\n\n', 'event: error\ndata: {"type":"error","error":{}}\n\n'],
    [
      'responses',
      'event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n',
      'event: response.failed\ndata: {"type":"response.failed","sequence_number":1,"response":{}}\n\n',
    ],
  ])('has its %s stream passed as it is, but not counted as whole, when it reports its failure', async (...given) => {
    const [dialect, begin, failure] = given
    const chunked = streams([begin, failure])
    const closed = writesRaw(`HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${begin}${failure}`)
    for (const script of [chunked, closed]) {
      const relay = await startRelay(script, { dialect })
      expect(await relay.post().then(readAnswer)).toMatchObject({ text: begin + failure, ended: 'well' })
      expect(await relay.outcome()).toMatchObject({ kind: 'cut', answered: true, status: 200, reason: 'reported' })
    }
  })

  it.each<[Dialect, string, 'well' | 'broken']>([
    ['chat', first, 'broken'],
    ['chat', CHAT_EVENTS.join(''), 'well'],
    ['messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', 'well'],
    ['messages', 'event: ping\ndata: {"type":"ping"}', 'broken'],
    ['responses', 'event: response.incomplete\ndata: {"type":"response.incomplete","sequence_number":1}\n\n', 'well'],
    ['responses', 'event: response.created\ndata: {"type":"response.created",', 'broken'],
  ])(
    'has its %s stream end well by closing the connection only after the last event (%#)',
    async (dialect, text, ended) => {
      const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
      const relay = await startRelay(writesRaw(head + text), { dialect })
      expect((await relay.post().then(readAnswer)).ended).toBe(ended)
    },
  )
})
