import { describe, expect, it } from 'vitest'
import type { StreamState } from '../../src/gateway/dialects/dialect.ts'
import { KEEP_ALIVE_COMMENT } from '../../src/gateway/dialects/sse/encode.ts'
import { BACKEND_BROKE_OFF } from '../../src/gateway/exchange/stream-failures.ts'
import type { AnswerRewrite } from '../../src/gateway/exchange/relay.ts'
import { makeStreamKeepAlive } from '../../src/gateway/exchange/stream-keep-alive.ts'
import { UNREADABLE } from '../../src/gateway/exchange/unreadable-answer.ts'
import { ApiError } from '../../src/http/errors.ts'
import { answerOf, CHAT_EVENTS, floods, nextChunk, readAnswer, startRelay, UNANSWERED } from '../support/relay.ts'
import { answersJson, byteByByte, streams } from '../support/upstream.ts'
import type { Script } from '../support/upstream.ts'

describe('a relay', () => {
  it.each<[string, Script]>([
    ['a whole answer', answersJson({})],
    ['a stream', streams(CHAT_EVENTS)],
    ['a cut stream', streams([CHAT_EVENTS[0]], { end: 'breaks' })],
    ['no answer', ({ socket }) => socket.destroySoon()],
  ])('leaves no listener behind after %s', async (_name, script) => {
    const relay = await startRelay(script)
    const before = { close: 0, drain: 0, timeout: 0, error: 0 }
    await relay.post().then(readAnswer)
    await relay.outcome()
    expect(relay.listenersLeft()).toEqual(before)
  })

  it('shows the bytes of an answer to its observer', async () => {
    const seen: Buffer[] = []
    const relay = await startRelay(streams(byteByByte(CHAT_EVENTS.join(''))), {
      observer: { push: (chunk) => void seen.push(chunk) },
    })
    await relay.post().then(readAnswer)
    expect(Buffer.concat(seen).toString()).toBe(CHAT_EVENTS.join(''))
  })
})

describe('a rewritten answer', () => {
  const saying = (data: string) => [{ event: null, data }]
  /** Rewrites everything in capitals; a `fatal` event ends the stream as a failure. */
  const capitals: AnswerRewrite = {
    stream() {
      let state: StreamState = 'open'
      return {
        push({ data }) {
          if (data === 'fatal') state = 'failed'
          if (data === 'last') state = 'finishing'
          return saying(data.toUpperCase())
        },
        end() {
          state = 'ended'
          return saying('!')
        },
        fail: ({ message }) => (state === 'open' ? saying(message) : []),
        state: () => state,
      }
    },
    whole: ({ status, body }) => ({ status, body: Buffer.from(`${status} ${body.toString().toUpperCase()}`) }),
    collect: null,
  }

  const startsWithMark: Script = ({ res }) =>
    void res.writeHead(200, { 'content-type': 'application/json' }).end('\uFEFF"ü"')

  it.each<[string, Script, string]>([
    ['a stream with its end', streams(['data: a\n\n', 'data: b\n\n']), 'data: A\n\ndata: B\n\ndata: !\n\n'],
    ['a whole answer that depends on its status', answersJson('ü'), '200 "Ü"'],
    ['a whole answer without its byte order mark', startsWithMark, '200 "Ü"'],
  ])('is %s', async (_name, script, expected) => {
    const relay = await startRelay(script, { rewrite: capitals })
    expect(await relay.post().then(readAnswer)).toMatchObject({ text: expected, ended: 'well' })
  })

  it('has the status and the type that the rewrite gives, and its own length', async () => {
    const rewrite: AnswerRewrite = {
      ...capitals,
      whole: () => ({ status: 418, body: Buffer.from('{}'), contentType: 'application/json' }),
    }
    const page: Script = ({ res }) => void res.writeHead(500, { 'content-type': 'text/html' }).end('<html>')
    const { answer, text } = await (await startRelay(page, { rewrite })).post().then(readAnswer)
    expect([answer.statusCode, answer.headers['content-type'], answer.headers['content-length'], text]).toEqual([
      418,
      'application/json',
      '2',
      '{}',
    ])
  })

  it('has no headers that only its own dialect knows when a page stands in its place', async () => {
    const page: Script = ({ res }) => void res.writeHead(200, { 'content-type': 'text/html' }).end('<html>')
    const relay = await startRelay(page, { rewrite: capitals, isTranslated: true })
    await relay.post().then(readAnswer)
    expect((await relay.outcome()).kept).toMatchObject({ isTranslated: true, answer: { status: 502 } })
  })

  it('is left to the handler when the rewrite refuses it', async () => {
    const refusal = new ApiError('not_supported')
    const relay = await startRelay(answersJson({}), { rewrite: { ...capitals, whole: () => refusal } })
    expect((await relay.post().then(readAnswer)).answer.statusCode).toBe(UNANSWERED)
    expect(await relay.outcome()).toMatchObject({ kind: 'refused', answered: false, refusal })
  })

  it('breaks off when the rewrite has told of a failure, and the upstream call is closed', async () => {
    const relay = await startRelay(streams(['data: a\n\n', 'data: fatal\n\n'], { end: 'stalls' }), {
      rewrite: capitals,
    })
    expect(await relay.post().then(readAnswer)).toMatchObject({ text: 'data: A\n\ndata: FATAL\n\n', ended: 'broken' })
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
  })

  it('bifrost#6784, ccr#1271: ends where an upstream has said why it ends, and then sends comments only', async () => {
    const script: Script = ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: a\n\ndata: last\n\n')
      const beat = setInterval(() => res.write(': beat\n\n'), 100)
      res.once('close', () => clearInterval(beat))
    }
    const relay = await startRelay(script, { rewrite: capitals })
    const answer = await relay.post().then(readAnswer)
    expect(answer).toMatchObject({ text: 'data: A\n\ndata: LAST\n\ndata: !\n\n', ended: 'well' })
    expect(await relay.outcome()).toMatchObject({ kind: 'whole' })
    await expect.poll(() => relay.upstream.openCalls()).toBe(0)
  })

  it('tells of an upstream that breaks off in the words of the rewrite', async () => {
    const relay = await startRelay(streams(['data: a\n\n'], { end: 'breaks' }), { rewrite: capitals })
    expect(await relay.post().then(readAnswer)).toMatchObject({
      text: `data: A\n\ndata: ${BACKEND_BROKE_OFF.message}\n\n`,
      ended: 'broken',
    })
  })

  it('is kept alive while it is silent, and an untouched stream is not', async () => {
    const keepAlive = makeStreamKeepAlive(60)
    const options = { rewrite: capitals, keepAlive, dialect: 'messages' } as const
    const rewritten = await startRelay(streams(['data: a\n\n'], { end: 'stalls' }), options)
    const answer = await answerOf(rewritten.open())
    expect(await nextChunk(answer)).toBe('data: A\n\n')
    expect(await nextChunk(answer)).toMatch(/^event: ping\n/)
    answer.destroy()

    const silent = await startRelay(streams([], { end: 'stalls' }), options)
    const empty = await answerOf(silent.open())
    expect(await nextChunk(empty)).toBe(KEEP_ALIVE_COMMENT)
    empty.destroy()

    const untouched = await startRelay(streams(['data: a\n\n'], { end: 'stalls' }), { keepAlive, idleTimeoutMs: 400 })
    expect((await untouched.post().then(readAnswer)).text).not.toContain(KEEP_ALIVE_COMMENT)
  })

  it('is not kept alive when the upstream is silent for longer than the idle time', async () => {
    const relay = await startRelay(streams(['data: a\n\n'], { end: 'stalls' }), {
      rewrite: capitals,
      keepAlive: makeStreamKeepAlive(60),
      idleTimeoutMs: 400,
    })
    const { text, ended } = await relay.post().then(readAnswer)
    expect(text).toMatch(/^data: A\n\n(: keep-alive\n\n)+data: The upstream fell silent.*\n\n$/)
    expect(ended).toBe('broken')
  })

  it('fails when the rewrite throws', async () => {
    const broken: AnswerRewrite = { ...capitals, whole: () => JSON.parse('no') as never }
    const relay = await startRelay(answersJson({}), { rewrite: broken })
    await relay.post().then(readAnswer)
    expect(await relay.outcome()).toMatchObject({ kind: 'failed', answered: false })
  })

  it('breaks off when the rewrite of a stream throws', async () => {
    const broken: AnswerRewrite = {
      ...capitals,
      stream: () => ({ ...capitals.stream(), push: () => JSON.parse('no') as never }),
    }
    const relay = await startRelay(streams(CHAT_EVENTS), { rewrite: broken })
    expect((await relay.post().then(readAnswer)).ended).toBe('broken')
    expect(await relay.outcome()).toMatchObject({ kind: 'cut' })
  })

  it('breaks off when it is translated and has grown larger than one answer may be', async () => {
    const silent: AnswerRewrite = {
      ...capitals,
      stream: () => ({ ...capitals.stream(), push: () => [] }),
    }
    const relay = await startRelay(floods(8500), { rewrite: silent, isTranslated: true })
    const text = expect.stringContaining(UNREADABLE.too_large) as unknown
    expect(await relay.post().then(readAnswer)).toMatchObject({ ended: 'broken', text })
    expect(await relay.outcome()).toMatchObject({ kind: 'cut', reason: 'too_large' })
  })

  it('breaks off and says why when one event is too large', async () => {
    const relay = await startRelay(streams(['data: a\n\n', `data: ${'x'.repeat(17_000_000)}`]), { rewrite: capitals })
    const text = expect.stringContaining('larger than 16777216 characters') as unknown
    expect(await relay.post().then(readAnswer)).toMatchObject({ ended: 'broken', text })
  })

  it('fails when the upstream sends it compressed', async () => {
    const relay = await startRelay(answersJson({}, { headers: { 'content-encoding': 'gzip' } }), { rewrite: capitals })
    await relay.post().then(readAnswer)
    const refusal = { code: 'upstream_failed', message: UNREADABLE.compressed }
    expect(await relay.outcome()).toMatchObject({ kind: 'failed', reason: 'compressed', refusal })
  })
})
