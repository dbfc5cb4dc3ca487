import { constants, createGunzip, createGzip } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { CHAT_EVENTS, nextChunk, readAnswer, REQUEST_BODY, settled, startRelay } from '../support/relay.ts'
import { answersJson, byteByByte, streams, writesRaw } from '../support/upstream.ts'

describe('an answer that is not a stream', () => {
  it('arrives byte for byte and with its length, status and allowed headers', async () => {
    const odd = '{ "error":{ "message":"\\u00fc" }, "big":12345678901234567890,\n "f":1.0 }'
    const relay = await startRelay(({ res }) => {
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
    const { answer, text } = await relay.post().then(readAnswer)

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
    expect(await relay.outcome()).toMatchObject({
      kind: 'whole',
      answered: true,
      status: 429,
      bytes: Buffer.byteLength(odd),
    })
  })

  it('is asked for with the request’s own bytes and query, and without its credentials', async () => {
    const relay = await startRelay(answersJson({}))
    await relay
      .post({ headers: { 'Anthropic-Beta': 'a,b', cookie: 'svc_access=1', authorization: 'Bearer mine' } })
      .then(readAnswer)

    const { method, url, body, headers } = relay.upstream.last()
    expect([method, url, body.toString()]).toEqual(['POST', '/v1/x?beta=true', REQUEST_BODY])
    expect(headers).toMatchObject({
      'anthropic-beta': 'a,b',
      'content-length': String(REQUEST_BODY.length),
      'accept-encoding': 'identity',
    })
    expect(headers).not.toHaveProperty('cookie')
    expect(headers).not.toHaveProperty('authorization')
  })

  it('is handed on once although an informational status came before it', async () => {
    const relay = await startRelay((call) => {
      call.res.writeProcessing()
      return answersJson({ ok: true })(call)
    })
    expect((await relay.post().then(readAnswer)).text).toBe('{"ok":true}')
  })

  it('has no negative time to its first byte where the clock is set back', async () => {
    let seconds = 60
    const relay = await startRelay(answersJson({}), { clock: { now: () => new Date(seconds-- * 1000) } })
    await relay.post().then(readAnswer)
    expect(await relay.outcome()).toMatchObject({ firstByteMs: 0 })
  })

  it('has the first content type when the upstream repeats it', async () => {
    const relay = await startRelay(
      writesRaw(`HTTP/1.1 200 OK\r\n${'content-type: application/json\r\n'.repeat(2)}content-length: 2\r\n\r\n{}`),
    )
    const { answer, text } = await relay.post().then(readAnswer)
    expect([text, answer.rawHeaders.filter((value) => value.includes('json'))]).toEqual(['{}', ['application/json']])
  })

  it.each([204, 304])('is handed on without a body when its status is %i', async (status) => {
    const relay = await startRelay(({ res }) => void res.writeHead(status).end())
    const { answer, text } = await relay.post().then(readAnswer)
    expect([answer.statusCode, text]).toEqual([status, ''])
  })

  it('reaches a slow reader whole when it is large, and is not buffered here', async () => {
    const size = 48 * 1024 * 1024
    let handed = 0
    const relay = await startRelay(async ({ res }) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': size })
      for (let sent = 0; sent < size; sent += 65_536) {
        handed = sent
        if (!res.write(Buffer.alloc(65_536, 120))) await new Promise((drained) => res.once('drain', drained))
      }
      res.end()
    })
    const answer = await relay.post()
    answer.pause()
    await settled(() => handed)
    // The socket buffers of both sides take some of it. The rest stays at the upstream.
    expect(handed).toBeLessThan(size / 2)

    expect((await readAnswer(answer)).text.length).toBe(size)
    expect(await relay.outcome()).toMatchObject({ kind: 'whole', bytes: size })
  })

  it('comes over the connection of the call before', async () => {
    const relay = await startRelay(answersJson({}))
    await relay.post().then(readAnswer)
    await relay.post().then(readAnswer)
    const [first, second] = relay.upstream.calls
    expect(second?.socket).toBe(first?.socket)
  })
})

describe('a stream', () => {
  it('arrives byte for byte although it is cut at every byte', async () => {
    const relay = await startRelay(streams(byteByByte(CHAT_EVENTS.join(''))))
    const { answer, text, ended } = await relay.post().then(readAnswer)
    expect(answer.headers['content-type']).toBe('text/event-stream; charset=utf-8')
    expect([text, ended]).toEqual([CHAT_EVENTS.join(''), 'well'])
    expect(await relay.outcome()).toMatchObject({
      kind: 'whole',
      status: 200,
      bytes: Buffer.byteLength(CHAT_EVENTS.join('')),
    })
  })

  it('is handed on at once: the head with the first event, each event before the next', async () => {
    const relay = await startRelay(streams([CHAT_EVENTS[0]], { end: 'stalls' }))
    const answer = await relay.post()
    expect(answer.statusCode).toBe(200)
    expect(await nextChunk(answer)).toBe(CHAT_EVENTS[0])
    relay.upstream.last().res.write(CHAT_EVENTS[1])
    expect(await nextChunk(answer)).toBe(CHAT_EVENTS[1])
  })

  it('is handed on at once when the upstream compresses it, although it was asked not to', async () => {
    const relay = await startRelay(({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': 'gzip' })
      const encoder = createGzip({ flush: constants.Z_SYNC_FLUSH })
      encoder.pipe(res)
      encoder.write(CHAT_EVENTS[0])
    })
    const answer = await relay.post()
    expect(answer.headers['content-encoding']).toBe('gzip')
    expect(await nextChunk(answer.pipe(createGunzip()))).toBe(CHAT_EVENTS[0])
  })

  it('is handed on as it comes when its type is unknown and the request asked for a stream', async () => {
    const relay = await startRelay(
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/x-ndjson' }).write('{"a":1}\n'),
    )
    expect(await nextChunk(await relay.post())).toBe('{"a":1}\n')
  })

  it('is a JSON error when the upstream refuses a request for a stream', async () => {
    const relay = await startRelay(answersJson({ error: { message: 'no' } }, { status: 400 }))
    const { answer, text } = await relay.post().then(readAnswer)
    expect([answer.statusCode, text]).toEqual([400, '{"error":{"message":"no"}}'])
    expect(answer.headers['content-type']).toBe('application/json')
  })

  it('ends with what its filter has held back', async () => {
    const held: Buffer[] = []
    const push = (chunk: Buffer) => {
      held.push(chunk)
      return Buffer.alloc(0)
    }
    const relay = await startRelay(streams(CHAT_EVENTS), { filter: { push, end: () => Buffer.concat(held) } })
    expect(await relay.post().then(readAnswer)).toMatchObject({ text: CHAT_EVENTS.join(''), ended: 'well' })
  })

  it('waits for a slow reader and is not buffered here', async () => {
    let handed = 0
    const relay = await startRelay(async ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      for (; handed < 3000; handed++) {
        if (!res.write(`data: ${'x'.repeat(16_000)}\n\n`)) await new Promise((drained) => res.once('drain', drained))
      }
      res.end('data: [DONE]\n\n')
    })
    const answer = await relay.post()
    answer.pause()
    await settled(() => handed)
    expect(handed).toBeLessThan(2000)
    const { text, ended } = await readAnswer(answer)
    expect([text.length, ended]).toEqual([3000 * 16_008 + 14, 'well'])
  })
})
