import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { readEvents } from '../support/read-events.ts'
import { outcomeOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, byteByByte, startUpstream, streams, writesRaw } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { waitForValue } from '../support/wait.ts'
import { finalResponse, foldMessage } from '../translate/streams.ts'

/** Faults that are known from other gateways, with a test for each. */
const TEAM = {
  models: [
    servedModel('vendora/large'),
    servedModel('svc/fast', { backendModel: 'qwen3:8b' }),
    servedModel('svc/alias', { upstreamModel: 'vendora/secret' }),
  ],
}

let upstream: TestUpstream
let engine: TestEngine
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream()
  engine = await startEngine()
  gateway = await startGateway({
    team: TEAM,
    vendora: upstream.url,
    vendorb: upstream.url,
    vendorc: upstream.url,
    engine: engine.url,
    idleTimeoutMs: 1_500,
  })
})
beforeEach(() => {
  upstream.restart(answersJson({}))
  engine.chat = null
})
afterAll(async () => {
  for (const started of [gateway, upstream, engine]) await started[Symbol.asyncDispose]()
})

const CHAT = '/v1/chat/completions'
const MESSAGES = '/vendorb/v1/messages'
const RESPONSES = '/v1/responses'
const chat = { model: 'vendora/large', messages: [{ role: 'user', content: 'hi' }] }
const local = { ...chat, model: 'svc/fast', max_tokens: 99, stream: true }

describe('the bytes of an answer', () => {
  it('may split a character, both forwarded and translated', async () => {
    const event = 'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Grüß 世界 👋🏽"}}]}\n\n'
    const end = 'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    upstream.restart(streams(byteByByte(event)))
    expect(await (await gateway.post(CHAT, { ...chat, stream: true })).text()).toBe(event)
    engine.chat = streams(byteByByte(event + end))
    const { events } = await readEvents(await gateway.post(MESSAGES, local))
    expect(foldMessage(events).content).toMatchObject([{ type: 'text', text: 'Grüß 世界 👋🏽' }])
  })

  it('may have CRLF, comments and data without a space, and the usage is still read', async () => {
    const lines = [
      ': a comment',
      'data:{"id":"c","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}',
      '',
      'event: message',
      'data:{"choices":[],',
      'data:"usage":{"prompt_tokens":7,"completion_tokens":3}}',
      '',
      'data:[DONE]',
      '',
      '',
    ]
    engine.chat = streams(byteByByte(lines.join('\r\n')))
    const answer = await gateway.post(RESPONSES, { model: 'svc/fast', input: 'x', stream: true })
    const { events } = await readEvents(answer)
    expect(finalResponse(events).usage).toMatchObject({ input_tokens: 7, output_tokens: 3 })
  })

  it('may be compressed without being asked for, and the caller can read the error', async () => {
    const error = { error: { type: 'overloaded_error', message: 'Overloaded' } }
    const packed = gzipSync(JSON.stringify(error))
    upstream.restart(({ res }) => {
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
      res.writeHead(529, { ...headers, 'content-length': packed.length }).end(packed)
    })
    const res = await gateway.post(CHAT, { ...chat, stream: true })
    expect([res.status, await res.json()]).toEqual([529, error])
  })

  it.each([204, 304])('are not written for a stream whose status, %i, allows none', async (status) => {
    engine.chat = ({ res }) => void res.writeHead(status, { 'content-type': 'text/event-stream' }).end()
    for (const [path, call] of [
      [MESSAGES, local],
      [RESPONSES, { model: local.model, input: 'hi', stream: true }],
    ] as const) {
      const res = await gateway.post(path, call)
      expect([res.status, await res.json()]).toMatchObject([502, { error: { message: expect.any(String) } }])
    }
  })

  it('of a translated error have their own Content-Length', async () => {
    engine.chat = answersJson({ error: 'ü'.repeat(500) }, { status: 400 })
    const res = await gateway.post(MESSAGES, local)
    const text = await res.text()
    expect(res.headers.get('content-length')).toBe(String(Buffer.byteLength(text)))
    expect(JSON.parse(text)).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'ü'.repeat(500) },
    })
  })
})

describe('an error of the upstream', () => {
  it.each([CHAT, MESSAGES, RESPONSES])(
    'keeps its status and body in answer to a call for a stream: POST %s',
    async (path) => {
      const error = { error: { message: 'slow down' } }
      upstream.restart(answersJson(error, { status: 429, headers: { 'retry-after': '3' } }))
      const res = await gateway.post(path, { ...chat, max_tokens: 9, input: 'x', stream: true })
      expect([res.status, res.headers.get('retry-after'), await res.json()]).toEqual([429, '3', error])
    },
  )

  it.each([
    ['the backend names no time', { message: 'slow down' }, {}, '1'],
    ['its message names the time', { message: 'Try again in 2.1s.' }, {}, '3'],
    ['its header has milliseconds', { message: 'slow down' }, { 'retry-after-ms': '1500' }, '2'],
    ['its header says at once', { message: 'slow down' }, { 'retry-after': '0' }, '1'],
    ['its header has a fraction', { message: 'slow down' }, { 'retry-after': '1.5' }, '2'],
    ['the account is used up', { message: 'no funds', code: 'insufficient_quota' }, {}, null],
  ])('with status 429 says when to repeat the call where waiting helps: %s', async (_name, error, headers, seconds) => {
    upstream.restart(answersJson({ error }, { status: 429, headers }))
    const res = await gateway.post(CHAT, chat)
    expect([res.status, res.headers.get('retry-after'), await res.json()]).toEqual([429, seconds, { error }])
  })

  it.each([
    ['answers 500', answersJson({ error: { message: 'oops' } }, { status: 500 })],
    ['answers 429', answersJson({ error: { message: 'slow' } }, { status: 429 })],
    ['closes the connection before its answer', writesRaw('')],
    ['closes the connection after its head', writesRaw('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{')],
    ['does not speak HTTP', writesRaw('\x16\x03\x01 nonsense\r\n\r\n')],
  ] as const)('is forwarded without repeating the call when the upstream %s', async (_name, script) => {
    upstream.restart(script)
    await gateway.post(CHAT, chat).then((res) => res.text())
    // Time in which a repeated call would arrive.
    await sleep(20)
    expect(upstream.calls.length).toBe(1)
  })
})

describe('a silent upstream', () => {
  it('is given up after the configured idle timeout, and not before', async () => {
    upstream.restart(async ({ res }) => {
      await sleep(900)
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
      await sleep(900)
      res.end('data: [DONE]\n\n')
    })
    expect(await (await gateway.post(CHAT, { ...chat, stream: true })).text()).toBe('data: 1\n\ndata: [DONE]\n\n')
    upstream.restart(() => {})
    expect(await outcomeOf(await gateway.post(CHAT, chat))).toBe('504 upstream_timeout')
    await waitForValue('open calls at the upstream', upstream.openCalls, 0)
  })
})

describe('headers and secrets of the gateway', () => {
  it('are not sent to the upstream: credentials, cookies, addresses, our own headers', async () => {
    await gateway.post(CHAT, chat, {
      headers: {
        cookie: 'svc_access=1',
        'x-api-key': 'mine',
        'api-key': 'mine',
        'proxy-authorization': 'Basic a',
        'x-forwarded-for': '10.0.0.1',
        forwarded: 'for=10.0.0.1',
        'x-svc-session-id': 's1',
        'x-svc-served-by': 'local-engine',
        'x-svc-request-id': 'forged',
      },
    })
    const { headers } = upstream.last()
    expect(headers.authorization).toBe('Bearer upstream-token')
    expect(Object.keys(headers).sort()).toEqual(
      [
        ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'connection', 'content-length'],
        ...['content-type', 'host', 'user-agent'],
      ].sort(),
    )
  })

  it('cannot be set by an upstream', async () => {
    upstream.restart(answersJson({}, { headers: { 'x-svc-served-by': 'local-engine', 'set-cookie': 'svc_access=1' } }))
    const res = await gateway.post(CHAT, chat)
    expect(res.headers.get('x-svc-served-by')).toBe('vendora')
    expect(res.headers.get('set-cookie')).toBeNull()
  })

  it('are not in the log, and neither is the text of a request', async () => {
    await gateway.post(CHAT, { ...chat, messages: [{ role: 'user', content: 'a-secret-word' }] })
    expect(JSON.stringify(gateway.log)).not.toMatch(/a-secret-word|a-good-token|upstream-token/)
  })
})

it.each(['vendora/secret', 'qwen3:8b', 'SVC/FAST', ' svc/fast', 'svc/fast/', 'vendora%2Flarge'])(
  'refuses a model that the team may not call under another name: %s',
  async (model) => {
    expect(await outcomeOf(await gateway.post(CHAT, { ...chat, model }))).toBe('403 model_not_allowed')
    expect(upstream.calls).toEqual([])
  },
)
