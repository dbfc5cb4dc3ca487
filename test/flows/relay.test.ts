import { createServer, request } from 'node:http'
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import { connect, createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openKeepAlive } from '../../src/gateway/upstream/keep-alive.ts'
import { relay } from '../../src/gateway/upstream/relay.ts'
import type { Outcome, Relay, RelayOptions, Rewrite } from '../../src/gateway/upstream/relay.ts'
import { toUpstreamHeaders } from '../../src/gateway/upstream/headers.ts'
import { closeTarget, openTarget } from '../../src/gateway/upstream/targets.ts'
import type { Dialect as Style, StreamFailure as Failure } from '../../src/gateway/dialects/dialect.ts'
import type { StreamRewriter as StreamRewrite } from '../../src/gateway/dialects/sse/rewrite.ts'
import { ApiError } from '../../src/http/errors.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { answersJson, byteByByte, neverAnswers, startUpstream, streams, writesRaw } from '../support/upstream.ts'
import type { Ending, Script } from '../support/upstream.ts'

const CHAT = [
  'data: {"choices":[{"delta":{"content":"Grüß"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":" Gott 🎉"}}]}\n\n',
  'data: [DONE]\n\n',
]
const BODY = '{"model":"m","stream":true,"seed":12345678901234567890,"t":1.0}'

describe('an answer that is not a stream', () => {
  it('arrives byte for byte, in one piece, with its status and the headers that cross', async () => {
    const odd = '{ "big":12345678901234567890, "f":1.0,\n "u":"\\u00fc" }'
    const gateway = await startRelay(({ res }) => {
      res
        .writeHead(429, {
          'content-type': 'application/json',
          'retry-after': '7',
          'request-id': 'req_up',
          'set-cookie': 'a=b',
          server: 'x',
        })
        .end(odd)
    })
    const { answer, text } = await gateway.post().then(read)

    expect(answer.statusCode).toBe(429)
    expect(text).toBe(odd)
    expect(answer.headers).toMatchObject({
      'retry-after': '7',
      'request-id': 'req_up',
      'x-svc-served-by': 'vendora',
      'content-length': String(Buffer.byteLength(odd)),
    })
    expect(answer.headers).not.toHaveProperty('set-cookie')
    expect(answer.headers).not.toHaveProperty('server')
    expect(await gateway.outcome()).toMatchObject({
      kind: 'whole',
      answered: true,
      status: 429,
      bytes: Buffer.byteLength(odd),
    })
  })

  it('carries the request on untouched', async () => {
    const gateway = await startRelay(answersJson({}))
    await gateway
      .post({ headers: { 'Anthropic-Beta': 'a,b', cookie: 'svc_access=1', authorization: 'Bearer mine' } })
      .then(read)

    const { method, url, body, headers } = gateway.upstream.last()
    expect([method, url, body.toString()]).toEqual(['POST', '/v1/x?beta=true', BODY])
    expect(headers).toMatchObject({
      'anthropic-beta': 'a,b',
      'content-length': String(BODY.length),
      'accept-encoding': 'identity',
    })
    expect(headers).not.toHaveProperty('cookie')
    expect(headers).not.toHaveProperty('authorization')
  })

  it('is one answer although an early hint came before it', async () => {
    const gateway = await startRelay((call) => {
      call.res.writeProcessing()
      return answersJson({ ok: true })(call)
    })
    expect((await gateway.post().then(read)).text).toBe('{"ok":true}')
  })

  it.each([204, 304])('may have no body: %i', async (status) => {
    const gateway = await startRelay(({ res }) => void res.writeHead(status).end())
    const { answer, text } = await gateway.post().then(read)
    expect([answer.statusCode, text]).toEqual([status, ''])
  })

  it('of many megabytes reaches a slow reader whole, and is not piled up here', async () => {
    const size = 48 * 1024 * 1024
    let handed = 0
    const gateway = await startRelay(async ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': size })
      for (let sent = 0; sent < size; sent += 65_536) {
        handed = sent
        if (!res.write(Buffer.alloc(65_536, 120))) await new Promise((drained) => res.once('drain', drained))
      }
      res.end()
    })
    const answer = await gateway.post()
    answer.pause()
    await settled(() => handed)
    // Socket buffers on both sides take some; what they do not take stays with the upstream.
    expect(handed).toBeLessThan(size / 2)

    expect((await read(answer)).text.length).toBe(size)
    expect(await gateway.outcome()).toMatchObject({ kind: 'whole', bytes: size })
  })

  it('reuses the connection of the call before', async () => {
    const gateway = await startRelay(answersJson({}))
    await gateway.post().then(read)
    await gateway.post().then(read)
    const [first, second] = gateway.upstream.calls
    expect(second?.socket).toBe(first?.socket)
  })
})

describe('a stream', () => {
  it('arrives byte for byte although it is cut at every byte', async () => {
    const gateway = await startRelay(streams(byteByByte(CHAT.join(''))))
    const { answer, text, ended } = await gateway.post().then(read)
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect([text, ended]).toEqual([CHAT.join(''), 'well'])
    expect(await gateway.outcome()).toMatchObject({
      kind: 'whole',
      status: 200,
      bytes: Buffer.byteLength(CHAT.join('')),
    })
  })

  it('begins at once: the head before the first event, each event before the next', async () => {
    const gateway = await startRelay(streams([], { end: 'stalls' }))
    const answer = await gateway.post()
    expect(answer.statusCode).toBe(200)

    gateway.upstream.last().res.write(CHAT[0] ?? '')
    expect(await nextChunk(answer)).toBe(CHAT[0])
    gateway.upstream.last().res.write(CHAT[1] ?? '')
    expect(await nextChunk(answer)).toBe(CHAT[1])
  })

  it('is handed on as it comes when only the request says that it is one', async () => {
    const gateway = await startRelay(
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{"a":1}\n'),
    )
    expect(await nextChunk(await gateway.post())).toBe('{"a":1}\n')
  })

  it('that was asked for and refused is a plain JSON error', async () => {
    const gateway = await startRelay(answersJson({ error: { message: 'no' } }, { status: 400 }))
    const { answer, text } = await gateway.post().then(read)
    expect([answer.statusCode, text]).toEqual([400, '{"error":{"message":"no"}}'])
    expect(answer.headers['content-type']).toBe('application/json')
  })

  it('waits for a slow reader instead of piling up', async () => {
    let handed = 0
    const gateway = await startRelay(async ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (; handed < 3000; handed++) {
        if (!res.write(`data: ${'x'.repeat(16_000)}\n\n`)) await new Promise((drained) => res.once('drain', drained))
      }
      res.end('data: [DONE]\n\n')
    })
    const answer = await gateway.post()
    answer.pause()
    await settled(() => handed)
    expect(handed).toBeLessThan(2000)
    const { text, ended } = await read(answer)
    expect([text.length, ended]).toEqual([3000 * 16_008 + 14, 'well'])
  })
})

describe('an upstream that fails before its answer', () => {
  it('that refuses the connection is unreachable', async () => {
    const upstream = await startUpstream()
    await upstream[Symbol.asyncDispose]()
    const gateway = await startRelay(neverAnswers, { url: upstream.url })
    await gateway.post()
    expect(await gateway.outcome()).toMatchObject({
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
  ])('that %s leaves the answer to the handler', async (_name, script, kind) => {
    const gateway = await startRelay(script, { idleTimeoutMs: 300 })
    const { answer } = await gateway.post().then(read)
    expect(await gateway.outcome()).toMatchObject({ kind, answered: false })
    expect(answer.statusCode).toBe(599)
  })
})

describe('an upstream that fails in the middle of a stream', () => {
  const first = CHAT[0] ?? ''

  it.each<[Ending, string]>([
    ['breaks', 'upstream_failed'],
    ['resets', 'upstream_failed'],
    ['stalls', 'upstream_timeout'],
  ])('and %s: the client is told, and never sees a clean end', async (end, code) => {
    const gateway = await startRelay(streams([first], { end }), { idleTimeoutMs: 300 })
    const { text, ended } = await gateway.post().then(read)
    expect(text.startsWith(first)).toBe(true)
    expect(dataOf(text.slice(first.length))).toMatchObject({ error: { code, type: 'api_error' } })
    expect(text).not.toContain('[DONE]')
    expect(ended).toBe('broken')
    expect(await gateway.outcome()).toMatchObject({ kind: 'cut', answered: true, status: 200 })
  })

  it('in the middle of an event: nothing is added, the connection breaks', async () => {
    const half = first.slice(0, -5)
    const gateway = await startRelay(streams([half], { end: 'breaks' }))
    expect(await gateway.post().then(read)).toMatchObject({ text: half, ended: 'broken' })
  })

  it('of the messages style: an error event', async () => {
    const event = 'event: ping\ndata: {"type": "ping"}\n\n'
    const gateway = await startRelay(streams([event], { end: 'breaks' }), { style: 'messages' })
    const { text, ended } = await gateway.post().then(read)
    expect(text.slice(event.length)).toMatch(/^event: error\n/)
    expect(dataOf(text.slice(event.length))).toMatchObject({ type: 'error', error: { type: 'api_error' } })
    expect(ended).toBe('broken')
  })

  it('of the responses style: `response.failed` of the same response, with the next number', async () => {
    const created =
      'event: response.created\r\ndata: {"type":"response.created","response":{"id":"resp_7","created_at":17,"model":"m"},"sequence_number":0}\r\n\r\n'
    const delta =
      'event: response.output_text.delta\r\ndata: {"type":"response.output_text.delta","sequence_number": 41,"delta":"x"}\r\n\r\n'
    const gateway = await startRelay(streams([created, delta], { end: 'breaks' }), { style: 'responses' })
    const { text, ended } = await gateway.post().then(read)
    expect(dataOf(text.slice(created.length + delta.length))).toMatchObject({
      type: 'response.failed',
      sequence_number: 42,
      response: { id: 'resp_7', created_at: 17, model: 'm', status: 'failed', error: { code: 'upstream_failed' } },
    })
    expect(ended).toBe('broken')
  })

  it.each<[Style, string, 'well' | 'broken']>([
    ['chat', first, 'broken'],
    ['chat', CHAT.join(''), 'well'],
    ['messages', 'event: message_stop\ndata: {"type":"message_stop"}\n\n', 'well'],
    ['messages', 'event: ping\ndata: {"type":"ping"}\n\n', 'broken'],
    ['responses', 'event: response.incomplete\ndata: {"type":"response.incomplete","sequence_number":1}\n\n', 'well'],
    ['responses', 'event: response.created\ndata: {"type":"response.created","sequence_number":1}\n\n', 'broken'],
  ])('that ends by closing, in the %s style, ends well only after its last event (%#)', async (style, text, ended) => {
    const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n'
    const gateway = await startRelay(writesRaw(head + text), { style })
    expect((await gateway.post().then(read)).ended).toBe(ended)
  })
})

describe('a client that leaves', () => {
  it.each<[string, Script, boolean]>([
    ['before the first byte', neverAnswers, false],
    ['after the head of a stream', streams([], { end: 'stalls' }), true],
    ['in the middle of a stream', streams([CHAT[0] ?? ''], { end: 'stalls' }), true],
    [
      'in the middle of a JSON answer',
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      false,
    ],
  ])('%s closes the upstream call within 100 ms', async (_name, script, answers) => {
    const gateway = await startRelay(script)
    const client = gateway.open()
    const head = answerOf(client)
    head.catch(() => {})
    await until(() => gateway.upstream.openCalls() === 1)
    if (answers) await head

    const leftAt = performance.now()
    client.destroy()
    await until(() => gateway.upstream.openCalls() === 0)
    expect(performance.now() - leftAt).toBeLessThan(100)
    expect(await gateway.outcome()).toMatchObject({ kind: 'left' })
  })

  it('while it reads nothing closes the upstream call too', async () => {
    const gateway = await startRelay(floods(2_000))
    const client = gateway.open()
    const answer = await answerOf(client)
    answer.pause()
    await until(() => gateway.connection()?.writableNeedDrain === true)
    client.destroy()
    await until(() => gateway.upstream.openCalls() === 0)
    expect(await gateway.outcome()).toMatchObject({ kind: 'left' })
  })

  it('without saying so, its answer unread, has the upstream call closed after the idle time', async () => {
    const gateway = await startRelay(floods(2_000), { idleTimeoutMs: 200 })
    const answer = await gateway.post()
    answer.pause()
    await until(() => gateway.upstream.calls.length > 0 && gateway.upstream.openCalls() === 0)
    expect(await gateway.outcome()).toMatchObject({ kind: 'left', answered: true, reason: 'unread' })
    expect((await read(answer)).ended).toBe('broken')
  })

  it('is not what one does that reads slowly', async () => {
    const gateway = await startRelay(floods(1_000), { idleTimeoutMs: 300 })
    let bytes = 0
    let taken = 0
    for await (const chunk of await gateway.post()) {
      taken += (chunk as Buffer).length
      // What a connection holds is megabytes, and only when much of it is gone does a system take more.
      if (taken < 2_000_000) continue
      bytes += taken
      taken = 0
      await new Promise((later) => setTimeout(later, 100))
    }
    expect(bytes + taken).toBe(1_000 * 16_008)
    expect((await gateway.outcome()).kind).toBe('whole')
  })

  it('while the connection is still being made never has its call sent', async () => {
    // Accepts the connection and never answers the TLS handshake.
    const sockets: Socket[] = []
    const silent = createTcpServer((socket) => void sockets.push(socket.on('error', () => {})))
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
    onTestFinished(() => {
      sockets.forEach((socket) => socket.destroy())
      silent.close()
    })
    const { port } = silent.address() as AddressInfo
    const gateway = await startRelay(neverAnswers, { url: new URL(`https://127.0.0.1:${port}`) })
    const client = gateway.open()
    await until(() => sockets.length === 1)
    client.destroy()
    expect(await gateway.outcome()).toMatchObject({ kind: 'left', status: null, bytes: 0 })
  })

  it.each<[string, Script]>([
    ['before the first byte', neverAnswers],
    ['in the middle of their streams', streams([CHAT[0] ?? ''], { end: 'stalls' })],
  ])('200 of them, %s: no upstream call is open after a second', async (_name, script) => {
    const gateway = await startRelay(script)
    const clients = Array.from({ length: 200 }, () => gateway.open())
    await until(() => gateway.upstream.openCalls() === 200)
    clients.forEach((client) => client.destroy())
    const leftAt = performance.now()
    await until(() => gateway.upstream.openCalls() === 0)
    expect(performance.now() - leftAt).toBeLessThan(1000)
    const outcomes = await Promise.all(gateway.relays.map(({ outcome }) => outcome))
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(200).fill('left'))
  })

  it('before the call is made: it is never sent', async () => {
    const gateway = await startRelay(answersJson({}), { leavesFirst: true })
    gateway.open()
    expect(await gateway.outcome()).toMatchObject({ kind: 'left' })
    expect(gateway.upstream.calls).toEqual([])
  })
})

describe('a call that is ended from this side', () => {
  const revoked = { code: 'unauthorized', type: 'authentication_error', message: 'The access was revoked.' }

  it('in the middle of a stream: the client is told why, the upstream call is closed', async () => {
    const gateway = await startRelay(streams([CHAT[0] ?? ''], { end: 'stalls' }))
    const answer = await gateway.post()
    await nextChunk(answer)
    gateway.relays[0]?.end(revoked)
    const { text, ended } = await read(answer)
    expect(dataOf(text)).toEqual({
      error: { message: 'The access was revoked.', type: 'authentication_error', code: 'unauthorized', param: null },
    })
    expect(ended).toBe('broken')
    await until(() => gateway.upstream.openCalls() === 0)
    expect(await gateway.outcome()).toMatchObject({ kind: 'ended', answered: true })
  })

  it('in the middle of a stream that nobody reads: its connection closes after the idle time', async () => {
    let handed = 0
    const gateway = await startRelay(floods(2_000), {
      idleTimeoutMs: 500,
      tap: (chunk) => void (handed += chunk.length),
    })
    const answer = await gateway.post()
    answer.pause()
    await settled(() => handed)
    gateway.relays[0]?.end(revoked)
    expect(await gateway.outcome()).toMatchObject({ kind: 'ended', answered: true })
    await until(() => gateway.connection()?.destroyed === true)
  })

  it('before the first byte: the answer is left to the handler', async () => {
    const gateway = await startRelay(neverAnswers)
    const answer = gateway.post()
    await until(() => gateway.upstream.openCalls() === 1)
    gateway.relays[0]?.end(revoked)
    expect((await answer.then(read)).answer.statusCode).toBe(599)
    expect(await gateway.outcome()).toMatchObject({ kind: 'ended', answered: false, reason: 'unauthorized' })
    await until(() => gateway.upstream.openCalls() === 0)
  })

  it('while it waits for a connection: it is never sent', async () => {
    const gateway = await startRelay(neverAnswers, { endsAtOnce: revoked })
    await gateway.post().then(read)
    expect(await gateway.outcome()).toMatchObject({ kind: 'ended', answered: false })
    // The connection of the call was begun before this one.
    await connectedTo(gateway.upstream.url)
    expect(gateway.upstream.calls).toEqual([])
  })

  it('after its end: nothing happens', async () => {
    const gateway = await startRelay(answersJson({ ok: 1 }))
    const { text } = await gateway.post().then(read)
    gateway.relays[0]?.end(revoked)
    expect(text).toBe('{"ok":1}')
    expect(await gateway.outcome()).toMatchObject({ kind: 'whole' })
  })
})

describe('a relay', () => {
  it.each<[string, Script]>([
    ['a whole answer', answersJson({})],
    ['a stream', streams(CHAT)],
    ['a cut stream', streams([CHAT[0] ?? ''], { end: 'breaks' })],
    ['no answer', ({ socket }) => socket.destroySoon()],
  ])('leaves no listener behind after %s', async (_name, script) => {
    const gateway = await startRelay(script)
    const before = { close: 0, drain: 0, timeout: 0, error: 0 }
    await gateway.post().then(read)
    await gateway.outcome()
    expect(gateway.listenersLeft()).toEqual(before)
  })

  it('shows the bytes of an answer to whoever taps it', async () => {
    const seen: Buffer[] = []
    const gateway = await startRelay(streams(byteByByte(CHAT.join(''))), { tap: (chunk) => seen.push(chunk) })
    await gateway.post().then(read)
    expect(Buffer.concat(seen).toString()).toBe(CHAT.join(''))
  })

  /** Writes everything in capitals; a `fatal` event ends the stream as a failure. */
  const shouts: Rewrite = {
    stream() {
      let state: ReturnType<StreamRewrite['state']> = 'open'
      return {
        push(chunk) {
          if (chunk.includes('fatal')) state = 'failed'
          return Buffer.from(chunk.toString().toUpperCase())
        },
        end() {
          state = 'ended'
          return Buffer.from('!')
        },
        fail: ({ code }) => Buffer.from(state === 'open' ? code : ''),
        state: () => state,
        keepAlive: () => ': hm\n\n',
      }
    },
    whole: ({ status, body }) => ({ status, body: Buffer.from(`${status} ${body.toString().toUpperCase()}`) }),
  }

  it.each<[string, Script, string]>([
    ['a stream, its end included', streams(['data: a\n\n', 'data: b\n\n']), 'DATA: A\n\nDATA: B\n\n!'],
    ['a whole answer, knowing its status', answersJson('ü'), '200 "Ü"'],
  ])('changes %s', async (_name, script, expected) => {
    const gateway = await startRelay(script, { rewrite: shouts })
    expect(await gateway.post().then(read)).toMatchObject({ text: expected, ended: 'well' })
  })

  it('answers with the status and the type that the change gives, and with its own length', async () => {
    const rewrite: Rewrite = {
      ...shouts,
      whole: () => ({ status: 418, body: Buffer.from('{}'), contentType: 'application/json' }),
    }
    const page: Script = ({ res }) => void res.writeHead(500, { 'content-type': 'text/html' }).end('<html>')
    const { answer, text } = await (await startRelay(page, { rewrite })).post().then(read)
    expect([answer.statusCode, answer.headers['content-type'], answer.headers['content-length'], text]).toEqual([
      418,
      'application/json',
      '2',
      '{}',
    ])
  })

  it('leaves an answer that is none to the handler', async () => {
    const refusal = new ApiError('not_supported')
    const gateway = await startRelay(answersJson({}), { rewrite: { ...shouts, whole: () => refusal } })
    expect((await gateway.post().then(read)).answer.statusCode).toBe(599)
    expect(await gateway.outcome()).toMatchObject({ kind: 'refused', answered: false, refusal })
  })

  it('breaks a stream off once its change has told of a failure, and closes the upstream call', async () => {
    const gateway = await startRelay(streams(['data: a\n\n', 'data: fatal\n\n'], { end: 'stalls' }), {
      rewrite: shouts,
    })
    expect(await gateway.post().then(read)).toMatchObject({ text: 'DATA: A\n\nDATA: FATAL\n\n', ended: 'broken' })
    await until(() => gateway.upstream.openCalls() === 0)
  })

  it('tells of an upstream that breaks in the words of the change', async () => {
    const gateway = await startRelay(streams(['data: a\n\n'], { end: 'breaks' }), { rewrite: shouts })
    expect(await gateway.post().then(read)).toMatchObject({ text: 'DATA: A\n\nupstream_failed', ended: 'broken' })
  })

  it('keeps a silent stream alive that is changed, and no other', async () => {
    const keepAlive = openKeepAlive(60)
    const changed = await startRelay(streams(['data: a\n\n'], { end: 'stalls' }), { rewrite: shouts, keepAlive })
    const answer = await answerOf(changed.open())
    expect(await nextChunk(answer)).toBe('DATA: A\n\n')
    expect(await nextChunk(answer)).toBe(': hm\n\n')
    answer.destroy()

    const untouched = await startRelay(streams(['data: a\n\n'], { end: 'stalls' }), { keepAlive, idleTimeoutMs: 400 })
    expect((await untouched.post().then(read)).text).not.toContain(': hm')
  })

  it('lets nothing keep a stream alive whose upstream is silent for too long', async () => {
    const gateway = await startRelay(streams(['data: a\n\n'], { end: 'stalls' }), {
      rewrite: shouts,
      keepAlive: openKeepAlive(60),
      idleTimeoutMs: 400,
    })
    const { text, ended } = await gateway.post().then(read)
    expect(text).toMatch(/^DATA: A\n\n(: hm\n\n)+upstream_timeout$/)
    expect(ended).toBe('broken')
  })

  it('reports an answer that cannot be changed as failed', async () => {
    const broken: Rewrite = { ...shouts, whole: () => JSON.parse('no') as never }
    const gateway = await startRelay(answersJson({}), { rewrite: broken })
    await gateway.post().then(read)
    expect(await gateway.outcome()).toMatchObject({ kind: 'failed', answered: false })
  })

  it('cuts a stream that cannot be changed any further', async () => {
    const broken: Rewrite = {
      ...shouts,
      stream: () => ({ ...shouts.stream(), push: () => JSON.parse('no') as never }),
    }
    const gateway = await startRelay(streams(CHAT), { rewrite: broken })
    expect((await gateway.post().then(read)).ended).toBe('broken')
    expect(await gateway.outcome()).toMatchObject({ kind: 'cut' })
  })

  it('does not change an answer that came compressed', async () => {
    const gateway = await startRelay(answersJson({}, { headers: { 'content-encoding': 'gzip' } }), { rewrite: shouts })
    await gateway.post().then(read)
    expect(await gateway.outcome()).toMatchObject({ kind: 'failed', reason: 'compressed' })
  })
})

type Given = Partial<RelayOptions> & {
  idleTimeoutMs?: number
  url?: URL
  leavesFirst?: boolean
  endsAtOnce?: Failure
}

/** A server that does nothing but relay, in front of a loopback upstream; what it cannot relay it answers with 599. */
async function startRelay(
  script: Script,
  { idleTimeoutMs = 10_000, url, leavesFirst = false, endsAtOnce, ...options }: Given = {},
) {
  const upstream = await startUpstream(script)
  const target = openTarget(
    'vendora',
    { url: url ?? upstream.url, bearer: null, apiKey: null },
    { connectTimeoutMs: 2000, idleTimeoutMs },
  )
  const relays: Relay[] = []
  const responses: ServerResponse[] = []
  const connections: Socket[] = []
  const listeners = (res: ServerResponse | undefined) =>
    Object.fromEntries(['close', 'drain', 'timeout', 'error'].map((name) => [name, res?.listenerCount(name) ?? 0]))
  let before: Record<string, number> = {}

  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    if (leavesFirst) res.destroy()
    before = listeners(res)
    responses.push(res)
    connections.push(req.socket)
    res.setHeader('x-svc-served-by', 'vendora')
    res.setHeader('request-id', 'req_ours')
    const call = {
      method: 'POST',
      path: '/v1/x?beta=true',
      headers: toUpstreamHeaders(req.rawHeaders, target),
      body: Buffer.concat(chunks),
    } as const
    const running = relay(target, call, res, {
      style: 'chat',
      wantsStream: true,
      clock: systemClock,
      ...options,
    })
    relays.push(running)
    if (endsAtOnce) running.end(endsAtOnce)
    const { answered, kind } = await running.outcome
    if (!answered && kind !== 'left') res.writeHead(599).end()
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  onTestFinished(async () => {
    await closeTarget(target)
    server.closeAllConnections()
    server.close()
    await upstream[Symbol.asyncDispose]()
  })

  const open = ({ headers = {} } = {}): ClientRequest => {
    const client = request({
      port,
      method: 'POST',
      path: '/',
      agent: false,
      headers: { 'content-type': 'application/json', ...headers },
    })
    client.on('error', () => {})
    client.end(BODY)
    return client
  }
  return {
    upstream,
    relays,
    open,
    post: (given: { headers?: Record<string, string> } = {}) => answerOf(open(given)),
    outcome: async (): Promise<Outcome> => {
      await until(() => relays.length > 0)
      const [first] = relays
      if (!first) throw new Error('nothing was relayed')
      return first.outcome
    },
    /** That the first call came by. */
    connection: () => connections[0],
    /** More listeners than before the relay, by event. */
    listenersLeft: () => {
      const after = listeners(responses[0])
      return Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - (before[name] ?? 0)]))
    },
  }
}

/** Events of 16 KB, written at once: more than the buffers of a connection hold. */
function floods(events: number): Script {
  return ({ res }) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < events; at++) res.write(`data: ${'x'.repeat(16_000)}\n\n`)
    res.end()
  }
}

/** Resolves when the server has answered on a connection of its own. */
async function connectedTo(url: URL): Promise<void> {
  const socket = connect(Number(url.port), url.hostname)
  socket.end('nonsense\r\n\r\n').resume()
  await new Promise((closed) => socket.on('close', closed))
}

function answerOf(client: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => client.on('response', resolve).on('error', reject))
}

/** The rest of an answer, and whether HTTP says that it is complete. */
async function read(
  answer: IncomingMessage,
): Promise<{ answer: IncomingMessage; text: string; ended: 'well' | 'broken' }> {
  const chunks: Buffer[] = []
  answer.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = await new Promise<'well' | 'broken'>((resolve) => {
    answer
      .on('end', () => resolve('well'))
      .on('error', () => resolve('broken'))
      .on('close', () => resolve('broken'))
    answer.resume()
  })
  return { answer, text: Buffer.concat(chunks).toString(), ended }
}

function nextChunk(answer: IncomingMessage): Promise<string> {
  return new Promise((resolve) => {
    answer.once('data', (chunk: Buffer) => {
      answer.pause()
      resolve(chunk.toString())
    })
    answer.resume()
  })
}

function dataOf(event: string): unknown {
  return JSON.parse(/data: (.*)/.exec(event)?.[1] ?? 'null')
}

/** Waits until something is so, on a busy machine too. */
async function until(isSo: () => boolean): Promise<void> {
  const end = performance.now() + 10_000
  while (!isSo()) {
    if (performance.now() > end) throw new Error(`It did not come about: ${isSo.toString()}`)
    await new Promise((later) => setTimeout(later, 2))
  }
}

/** Waits until a number does not grow any more. */
async function settled(value: () => number): Promise<void> {
  for (let last = -1; value() !== last;) {
    last = value()
    await new Promise((later) => setTimeout(later, 150))
  }
}
