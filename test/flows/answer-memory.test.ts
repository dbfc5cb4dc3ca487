import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { bodyOf, greeting } from '../support/dialect-servers.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { readEvents } from '../support/read-events.ts'
import { outcomeOf } from '../support/requests.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, completionOf, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'
import { waitForValue } from '../support/wait.ts'

const PATH = '/vendorb/v1/messages'
const NO_ROOM = 'Too many large answers are on their way. Try your request again.'

let upstream: TestUpstream
let gateway: TestGateway
let engine: TestEngine

beforeAll(async () => {
  upstream = await startUpstream()
  engine = await startEngine()
  const models = [
    servedModel('any/chat', { serve: [serveEntry('vendora', 'large-2026')] }),
    servedModel('any/two', {
      serve: [serveEntry('vendora', 'failing'), serveEntry('vendora', 'waiting', { rank: 1 })],
    }),
    servedModel('any/local', { backendModel: 'qwen3:8b' }),
  ]
  gateway = await startGateway({ team: { models }, vendora: upstream.url, engine: engine.url, maxBodiesBytes: 250_000 })
})
beforeEach(() => {
  gateway.log.length = 0
  upstream.restart(answersJson(completionOf('large-2026')))
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const post = (stream = false, init: RequestInit = {}) =>
  gateway.post(PATH, greeting('messages', 'any/chat', stream), { signal: init.signal ?? null })

/** Sends all of a whole answer of 150 KB but its end, which never comes. */
const isLong: Script = ({ res }) =>
  void res.writeHead(200, { 'content-type': 'application/json' }).write(`{"id":"${'x'.repeat(150_000)}`)

/** A stream with 300 KB of text in small deltas, without its end. */
const streamsLong = streams(
  Array.from({ length: 30 }, () => `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(10_000)}"}}]}\n\n`),
  { end: 'stalls' },
)

/** A stream that begins, and then sends 120 KB of an event whose end never comes. */
const streamsUnfinished = streams(
  [
    'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\n',
    `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(120_000)}`,
  ],
  { end: 'stalls' },
)

/** Makes a call whose answer of 150 KB is held. Returns the function that makes its caller leave. */
async function holdAnswer() {
  upstream.restart(isLong)
  const caller = new AbortController()
  const call = post(false, { signal: caller.signal }).catch(() => null)
  await waitForValue('the answer', () => upstream.calls[0]?.res.writableLength, 0)
  return async () => {
    caller.abort()
    await call
  }
}

describe('while translated answers use the memory for all', () => {
  it('another large one gets 503, and a small one is served', async () => {
    const leave = await holdAnswer()
    const refused = await post()
    expect(await outcomeOf(refused.clone())).toBe('503 service_unavailable')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(await refused.json()).toMatchObject({ error: { message: NO_ROOM } })
    expect(gateway.log).toContainEqual({
      event: 'call.no_room',
      fields: expect.objectContaining({ model: 'any/chat', servedBy: 'vendora', answered: false }) as object,
    })
    expect(gateway.log.map(({ event }) => event)).not.toContain('call.upstream_failed')
    upstream.restart(answersJson(completionOf('large-2026')))
    expect((await post()).status).toBe(200)
    await leave()
    const large = { ...completionOf('large-2026'), id: 'x'.repeat(150_000) }
    upstream.restart(answersJson(large))
    await expect.poll(async () => (await post()).status).toBe(200)
  })

  it('a stream that grows large ends with the same error', async () => {
    const leave = await holdAnswer()
    upstream.restart(streamsLong)
    const stream = await post(true)
    expect(stream.status).toBe(200)
    const text = await stream.text()
    expect(text).toContain('event: error')
    expect(text).toContain(NO_ROOM)
    await leave()
  })

  it('a stream ends with the same error in the middle of a large event', async () => {
    const leave = await holdAnswer()
    upstream.restart(streamsUnfinished)
    expect(await (await post(true)).text()).toContain(NO_ROOM)
    await leave()
  })

  it('so does a stream of the local worker, whose events are renamed', async () => {
    const leave = await holdAnswer()
    engine.chat = streamsUnfinished
    const stream = await gateway.post('/v1/chat/completions', greeting('chat', 'any/local', true))
    expect(stream.headers.get('x-svc-served-by')).toBe('local-engine')
    const { events, ended } = await readEvents(stream)
    expect(events.at(-1)?.data).toContain(NO_ROOM)
    expect(ended).toBe('broken')
    await leave()
  })
})

it('the answer of a backend that failed uses no memory while the next one is waited for', async () => {
  const fails = answersJson({ error: { message: 'Busy.' }, padding: 'x'.repeat(150_000) }, { status: 500 })
  upstream.restart((seen) => (bodyOf(seen).model === 'failing' ? fails : neverAnswers)(seen))
  const caller = new AbortController()
  const call = gateway.post(PATH, greeting('messages', 'any/two'), { signal: caller.signal }).catch(() => 'left')
  await waitForValue('the second attempt', () => upstream.calls.length, 2)
  upstream.restart(answersJson({ ...completionOf('large-2026'), id: 'x'.repeat(150_000) }))
  expect((await post()).status).toBe(200)
  caller.abort()
  await call
})

it('a stream that is not translated counts nothing', async () => {
  const leave = await holdAnswer()
  const whole = streams([
    ...Array.from({ length: 30 }, () => `data: {"a":"${'x'.repeat(10_000)}"}\n\n`),
    'data: [DONE]\n\n',
  ])
  upstream.restart(whole)
  const stream = await gateway.post('/v1/chat/completions', greeting('chat', 'any/chat', true))
  expect((await stream.text()).length).toBeGreaterThan(300_000)
  await leave()
})
