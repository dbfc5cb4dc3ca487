import { connect, createServer as createTcpServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { makeStreamKeepAlive } from '../../src/gateway/exchange/stream-keep-alive.ts'
import {
  answerOf,
  CHAT_EVENTS,
  dataOf,
  floods,
  nextChunk,
  readAnswer,
  settled,
  startRelay,
  UNANSWERED,
} from '../support/relay.ts'
import { answersJson, neverAnswers, streams } from '../support/upstream.ts'
import type { Script } from '../support/upstream.ts'

describe('a caller that leaves', () => {
  it.each<[string, Script, boolean]>([
    ['before the first byte', neverAnswers, false],
    ['after the head of a stream', streams([], { end: 'stalls' }), true],
    ['in the middle of a stream', streams([CHAT_EVENTS[0]], { end: 'stalls' }), true],
    [
      'in the middle of a JSON answer',
      ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{'),
      false,
    ],
  ])('closes the upstream call when it leaves %s', async (_name, script, answers) => {
    const relay = await startRelay(script, { keepAlive: makeStreamKeepAlive(30) })
    const client = relay.open()
    const head = answerOf(client)
    head.catch(() => {})
    await expect.poll(() => relay.upstream.openCalls()).toBe(1)
    if (answers) await head

    client.destroy()
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
    expect(await relay.outcome()).toMatchObject({ kind: 'left', isSent: true })
  })

  it('has its whole answer when it leaves after the last event, although the upstream has not ended yet', async () => {
    const relay = await startRelay(streams(CHAT_EVENTS, { end: 'stalls' }))
    const client = relay.open()
    const answer = await answerOf(client)
    for (let text = ''; !text.includes('[DONE]');) text += await nextChunk(answer)

    client.destroy()
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
    expect(await relay.outcome()).toMatchObject({ kind: 'whole' })
  })

  it('does not make a failure whole when it leaves after the event that reports it', async () => {
    const failed = 'event: response.failed\ndata: {"type":"response.failed","sequence_number":0,"response":{}}\n\n'
    const relay = await startRelay(streams([failed], { end: 'stalls' }), { dialect: 'responses' })
    const client = relay.open()
    await answerOf(client).then(nextChunk)

    client.destroy()
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
    expect(await relay.outcome()).toMatchObject({ kind: 'cut', reason: 'reported' })
  })

  it('closes the upstream call when it leaves without having read', async () => {
    const relay = await startRelay(floods(2_000))
    const client = relay.open()
    const answer = await answerOf(client)
    answer.pause()
    await expect.poll(() => relay.callerSocket()?.writableNeedDrain).toBe(true)
    client.destroy()
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
    expect(await relay.outcome()).toMatchObject({ kind: 'left' })
  })

  it('gets no further bytes of a fast backend written to its closed connection', async () => {
    let chunks = 0
    const leaveAtThird = () => void (++chunks === 3 && relay.callerSocket()?.destroy())
    const relay = await startRelay(floods(2_000), { observer: { push: leaveAtThird } })
    await relay.post().then(readAnswer)
    expect(await relay.outcome()).toMatchObject({ kind: 'left' })
    expect(chunks).toBe(3)
  })

  it('is recognised by the idle time when it only stops reading', async () => {
    const relay = await startRelay(floods(2_000), { idleTimeoutMs: 200 })
    const answer = await relay.post()
    answer.pause()
    await expect.poll(() => [relay.upstream.calls.length, relay.upstream.openCalls()]).toEqual([1, 0])
    expect(await relay.outcome()).toMatchObject({ kind: 'left', answered: true, reason: 'unread' })
    expect((await readAnswer(answer)).ended).toBe('broken')
  })

  it('is not confused with one that reads slowly', async () => {
    const relay = await startRelay(floods(1_000), { idleTimeoutMs: 1500 })
    let bytes = 0
    let taken = 0
    for await (const chunk of await relay.post()) {
      taken += (chunk as Buffer).length
      // A connection holds megabytes, and the system takes more only when much of that is gone.
      if (taken < 2_000_000) continue
      bytes += taken
      taken = 0
      await new Promise((later) => setTimeout(later, 300))
    }
    expect(bytes + taken).toBe(1_000 * 16_008)
    expect((await relay.outcome()).kind).toBe('whole')
  })

  it('leaves while the connection to the backend is being made: its call is never sent', async () => {
    // Accepts the connection and never answers the TLS handshake.
    const sockets: Socket[] = []
    const silent = createTcpServer((socket) => void sockets.push(socket.on('error', () => {})))
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
    onTestFinished(() => {
      sockets.forEach((socket) => socket.destroy())
      silent.close()
    })
    const { port } = silent.address() as AddressInfo
    const relay = await startRelay(neverAnswers, { url: new URL(`https://127.0.0.1:${port}`) })
    const client = relay.open()
    await expect.poll(() => sockets.length).toBe(1)
    client.destroy()
    expect(await relay.outcome()).toMatchObject({ kind: 'left', isSent: false, status: null, bytes: 0 })
  })

  it.each<[string, Script]>([
    ['before the first byte', neverAnswers],
    ['in the middle of their streams', streams([CHAT_EVENTS[0]], { end: 'stalls' })],
  ])('is one of 200 that leave %s: every upstream call is closed', async (_name, script) => {
    // A busy machine takes more than ten seconds to open them all, and their backend is silent meanwhile.
    const relay = await startRelay(script, { idleTimeoutMs: 60_000 })
    const clients = Array.from({ length: 200 }, () => relay.open())
    await expect.poll(() => relay.upstream.openCalls()).toBe(200)
    clients.forEach((client) => client.destroy())
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
    const outcomes = await Promise.all(relay.exchanges.map(({ outcome }) => outcome))
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(200).fill('left'))
  })

  it('leaves before the connection is made: its call is never sent', async () => {
    const relay = await startRelay(answersJson({}), { leavesFirst: true })
    relay.open()
    expect(await relay.outcome()).toMatchObject({ kind: 'left', isSent: false })
    expect(relay.upstream.calls).toEqual([])
  })
})

describe('a call that the gateway ends', () => {
  const revoked = {
    kind: 'failed',
    code: 'unauthorized',
    type: 'authentication_error',
    message: 'The access was revoked.',
  } as const

  it('tells the caller of a stream why, and closes the upstream call', async () => {
    const relay = await startRelay(streams([CHAT_EVENTS[0]], { end: 'stalls' }))
    const answer = await relay.post()
    await nextChunk(answer)
    relay.exchanges[0]?.end(revoked)
    const { text, ended } = await readAnswer(answer)
    expect(dataOf(text)).toEqual({
      error: { message: 'The access was revoked.', type: 'authentication_error', code: 'unauthorized', param: null },
    })
    expect(ended).toBe('broken')
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
    expect(await relay.outcome()).toMatchObject({ kind: 'ended', answered: true })
  })

  it('at a stop is not reported as a failure of the upstream', async () => {
    const relay = await startRelay(streams([CHAT_EVENTS[0]], { end: 'stalls' }))
    const answer = await relay.post()
    await nextChunk(answer)
    await relay.stop()
    const { text, ended } = await readAnswer(answer)
    expect(dataOf(text)).toMatchObject({ error: { code: 'service_unavailable' } })
    expect(ended).toBe('broken')
    expect(await relay.outcome()).toMatchObject({ kind: 'ended', reason: 'service_unavailable' })
  })

  it('at a stop before the first byte leaves a refusal to the handler', async () => {
    const relay = await startRelay(neverAnswers)
    const answer = relay.post()
    await expect.poll(() => relay.upstream.openCalls()).toBe(1)
    await relay.stop()
    expect((await answer.then(readAnswer)).answer.statusCode).toBe(UNANSWERED)
    expect(await relay.outcome()).toMatchObject({
      kind: 'ended',
      answered: false,
      refusal: { code: 'service_unavailable', retryAfterSeconds: 1 },
    })
  })

  it('is whole for a caller that has the last event, although the upstream has not ended yet', async () => {
    const relay = await startRelay(streams(CHAT_EVENTS, { end: 'stalls' }))
    const answer = await relay.post()
    let passed = ''
    while (!passed.includes('[DONE]')) passed += await nextChunk(answer)
    relay.exchanges[0]?.end(revoked)
    expect(await readAnswer(answer)).toMatchObject({ text: '', ended: 'well' })
    expect(await relay.outcome()).toMatchObject({ kind: 'whole', reason: null })
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
  })

  it('closes the connection of a caller that does not read after the idle time', async () => {
    let handed = 0
    const relay = await startRelay(floods(2_000), {
      idleTimeoutMs: 500,
      observer: { push: (chunk) => void (handed += chunk.length) },
    })
    const answer = await relay.post()
    answer.pause()
    await settled(() => handed)
    relay.exchanges[0]?.end(revoked)
    expect(await relay.outcome()).toMatchObject({ kind: 'ended', answered: true })
    await expect.poll(() => relay.callerSocket()?.destroyed).toBe(true)
  })

  it('leaves the answer to the handler before the first byte', async () => {
    const relay = await startRelay(neverAnswers)
    const answer = relay.post()
    await expect.poll(() => relay.upstream.openCalls()).toBe(1)
    relay.exchanges[0]?.end(revoked)
    expect((await answer.then(readAnswer)).answer.statusCode).toBe(UNANSWERED)
    expect(await relay.outcome()).toMatchObject({
      kind: 'ended',
      answered: false,
      reason: 'unauthorized',
      refusal: { code: 'unauthorized' },
    })
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
  })

  it('is never sent when it still waits for a connection', async () => {
    const relay = await startRelay(neverAnswers, { endsAtOnce: revoked })
    await relay.post().then(readAnswer)
    expect(await relay.outcome()).toMatchObject({ kind: 'ended', answered: false })
    // The connection of the call was started before this one.
    await connectedTo(relay.upstream.url)
    expect(relay.upstream.calls).toEqual([])
  })

  it('is unchanged when it has already ended', async () => {
    const relay = await startRelay(answersJson({ ok: 1 }))
    const { text } = await relay.post().then(readAnswer)
    relay.exchanges[0]?.end(revoked)
    expect(text).toBe('{"ok":1}')
    expect(await relay.outcome()).toMatchObject({ kind: 'whole' })
  })
})

/** Resolves when the server has answered on another connection. */
async function connectedTo(url: URL): Promise<void> {
  const socket = connect(Number(url.port), url.hostname)
  socket.end('nonsense\r\n\r\n').resume()
  await new Promise((closed) => socket.on('close', closed))
}
