import { once } from 'node:events'
import { request } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bytesOutsideHeap, heapUsed } from '../support/garbage.ts'
import { startGateway, TOKEN } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { outcomeOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { waitForValue } from '../support/wait.ts'

const COMPLETION = { id: 'c', object: 'chat.completion', created: 1, model: 'm', choices: [] }
const CHUNK = 'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n'
const PATH = '/v1/chat/completions'

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream()
  const models = [servedModel('v/large')]
  gateway = await startGateway({ team: { models }, vendora: upstream.url, maxBodiesBytes: 250_000 })
})
beforeEach(() => upstream.restart(answersJson(COMPLETION)))
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const bodyOf = (bytes: number, stream = false) => ({
  model: 'v/large',
  stream,
  messages: [{ role: 'user', content: 'x'.repeat(bytes) }],
})

/** What `fetch` needs to send a stream. It is missing in some type declarations. */
const STREAMED: object = { duplex: 'half' }

/** A text as a stream, so that `fetch` does not know its length. */
function inPieces(text: string): ReadableStream<Uint8Array> {
  return new Blob([text]).stream()
}

/** Sends a call of 150 KB that waits for its backend. Returns the function that makes its caller leave. */
async function sendWaitingCall() {
  upstream.restart(neverAnswers)
  const caller = new AbortController()
  const call = gateway.post(PATH, bodyOf(150_000), { signal: caller.signal }).catch(() => null)
  await waitForValue('the call', () => upstream.calls.length, 1)
  upstream.restart(answersJson(COMPLETION))
  return async () => {
    caller.abort()
    await call
  }
}

it('a large call gets 503 while the bodies of others use the memory for all, and a small one is served', async () => {
  const leave = await sendWaitingCall()
  const refused = await gateway.post(PATH, bodyOf(150_000))
  expect(await outcomeOf(refused.clone())).toBe('503 service_unavailable')
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({ error: { message: 'Too many large requests are running. Try again.' } })
  expect((await gateway.post(PATH, bodyOf(1_000))).status).toBe(200)
  await leave()
  await expect.poll(async () => (await gateway.post(PATH, bodyOf(150_000))).status).toBe(200)
})

it('a body of many small values counts as what they take when they are parsed', async () => {
  const leave = await sendWaitingCall()
  const many = { ...bodyOf(10), metadata: Array.from({ length: 10_000 }, () => ({})) }
  expect(await outcomeOf(await gateway.post(PATH, many))).toBe('503 service_unavailable')
  await leave()
  await expect.poll(async () => (await gateway.post(PATH, many)).status).toBe(200)
})

describe.each([
  ['a compressed body', { 'content-encoding': 'gzip' }, gzipSync],
  ['a body without a length', {}, inPieces],
])('%s', (_, headers, encode) => {
  const send = (bytes: number) =>
    gateway.post(PATH, null, { headers, body: encode(JSON.stringify(bodyOf(bytes))), ...STREAMED })

  it('counts what has arrived of it', async () => {
    const leave = await sendWaitingCall()
    expect((await send(90_000)).status).toBe(200)
    expect(await outcomeOf(await send(110_000))).toBe('503 service_unavailable')
    await leave()
    await expect.poll(async () => (await send(110_000)).status).toBe(200)
  })
})

it('a body whose caller has left while it was decompressed no longer counts', async () => {
  const body = gzipSync(JSON.stringify(bodyOf(20_000_000)))
  const head = `POST ${PATH} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${TOKEN}\r\ncontent-type: application/json\r\n`
  const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1')
  socket.write(`${head}content-encoding: gzip\r\ncontent-length: ${body.length}\r\n\r\n`)
  await new Promise((written) => socket.write(body, written))
  socket.destroy()
  const logged = () => gateway.log.some(({ event }) => event === 'http.request')
  gateway.log.length = 0
  await waitForValue('the end of the request', logged, true)
  for (const _ of [1, 2, 3]) {
    await sleep(50)
    expect((await gateway.post(PATH, bodyOf(150_000))).status).toBe(200)
  }
})

it('what is parsed of a body is not kept while the only backend of the call works on the answer', async () => {
  await using roomy = await startGateway({ team: { models: [servedModel('v/large')] }, vendora: upstream.url })
  const messages = Array.from({ length: 50_000 }, (_item, at) => ({ role: 'user', content: `message ${at}` }))
  const body = Buffer.from(JSON.stringify({ model: 'v/large', max_tokens: 64, reasoning_effort: 'high', messages }))
  upstream.restart(neverAnswers)
  const before = await heapUsed()
  const caller = new AbortController()
  const call = roomy.post(PATH, '', { body, signal: caller.signal }).catch(() => null)
  await waitForValue('the call', () => upstream.calls.length, 1)
  // It takes 4 MB in the heap. The bytes of the body are outside of the heap.
  expect((await heapUsed()) - before).toBeLessThan(1024 * 1024)
  caller.abort()
  await call
})

it('the bytes of large bodies are not kept while their answers stream', async () => {
  await using roomy = await startGateway({ team: { models: [servedModel('v/large')] }, vendora: upstream.url })
  upstream.restart(streams([CHUNK], { end: 'stalls' }))
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  const body = JSON.stringify(bodyOf(2_000_000, true))
  const before = await bytesOutsideHeap()
  const calls: ClientRequest[] = []
  while (calls.length < 10) {
    // `fetch` keeps the body that it has sent.
    const call = request(`${roomy.url}${PATH}`, { method: 'POST', headers }).end(body)
    calls.push(call)
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    await once(
      answer.on('error', () => {}),
      'data',
    )
  }
  upstream.restart(neverAnswers)
  await expect.poll(async () => (await bytesOutsideHeap()) - before).toBeLessThan(8_000_000)
  expect(upstream.openCalls()).toBeGreaterThanOrEqual(calls.length)
  for (const call of calls) call.destroy()
})

it('a body counts until the answer begins, not until a stream ends', async () => {
  upstream.restart(streams([CHUNK], { end: 'stalls' }))
  const caller = new AbortController()
  const open = await gateway.post(PATH, bodyOf(150_000, true), { signal: caller.signal })
  expect(open.status).toBe(200)
  upstream.restart(answersJson(COMPLETION))
  expect((await gateway.post(PATH, bodyOf(150_000))).status).toBe(200)
  caller.abort()
})

it.each([
  ['that is not JSON', `{"a":"${'x'.repeat(150_000)}"`],
  ['of a model that is not allowed', JSON.stringify({ ...bodyOf(150_000), model: 'no/such' })],
])('a refused body %s no longer counts', async (_name, body) => {
  for (const _ of [1, 2, 3]) expect((await gateway.post(PATH, body)).status).toBeLessThan(500)
  expect((await gateway.post(PATH, bodyOf(150_000))).status).toBe(200)
})
