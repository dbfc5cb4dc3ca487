import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { isChatCall, OPERATIONS, TEAM } from '../support/local-worker.ts'
import { readEvents } from '../support/read-events.ts'
import { outcomeOf } from '../support/requests.ts'
import { answersJson, neverAnswers, streams } from '../support/upstream.ts'
import type { Script } from '../support/upstream.ts'
import { ALL_FIXTURES, fixture, FIXTURES, recorded } from '../translate/streams.ts'

let engine: TestEngine
let gateway: TestGateway

beforeAll(async () => {
  engine = await startEngine()
  gateway = await startGateway({ team: TEAM, engine: engine.url, keepAliveMs: 60 })
})

beforeEach(() => {
  engine.chat = null
  engine.listing = null
  engine.routes = {}
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

describe.each(OPERATIONS)('the local worker, at $path', ({ path, dialect, body, check }) => {
  const stream = (more: object = {}) => gateway.post(path, { model: 'svc/fast', ...body, stream: true, ...more })
  /** A failure is the regular last event, but in a chat stream, where that would look like success. */
  const endOf = (events: readonly SseEvent[], ended: string) => (dialect === 'chat' ? ended : events.at(-1)?.event)
  const failedEnd = { chat: 'broken', messages: 'error', responses: 'response.failed' }[dialect]

  it.each(ALL_FIXTURES)(
    'streams %s in the grammar of the dialect, with the name of the service model',
    async (name) => {
      engine.chat = streams([fixture(name)])
      const res = await stream()
      expect(res.headers.get('x-svc-served-by')).toBe('local-engine')
      expect(res.headers.get('content-type')).toMatch(/^text\/event-stream/)
      const { events, ended } = await readEvents(res)
      // Chunks in the chat dialect are the engine's own, also where they are unusual.
      if (dialect !== 'chat' || !name.startsWith('lmstudio')) expect(check(events)).toEqual([])
      if ((FIXTURES.whole as readonly string[]).includes(name)) expect(ended).toBe('well')
      else expect(endOf(events, ended)).toBe(failedEnd)
      expect(events.map(({ data }) => data).join('')).not.toMatch(/"model":"(?!svc)/)
    },
  )

  it('ends a stream as a failure, in the grammar of the dialect, when the engine breaks off', async () => {
    engine.chat = streams([fixture('ollama-text.sse').subarray(0, 900)], { end: 'breaks' })
    const { events, ended } = await readEvents(await stream())
    expect([check(events), endOf(events, ended)]).toEqual([[], failedEnd])
  })

  it.each<[string, Script, number, string]>([
    ['a bad request', answersJson({ error: { message: 'odd', type: 'x', code: 3 } }, { status: 400 }), 400, 'odd'],
    ['an error that is a text', answersJson({ error: 'no more memory' }, { status: 500 }), 500, 'no more memory'],
    ['a model that loads', answersJson({ error: { message: 'Loading model' } }, { status: 503 }), 503, 'Loading model'],
    ['an error that says 200', answersJson({ error: 'Unexpected endpoint' }), 502, 'Unexpected endpoint'],
    [
      'an error that is an event',
      ({ res }) =>
        void res.writeHead(400, { 'content-type': 'text/event-stream' }).end('data: {"error":{"message":"odd"}}\n\n'),
      400,
      'odd',
    ],
    [
      'a page',
      ({ res }) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
      502,
      'The backend answered with a web page.',
    ],
  ])('reports %s with status and message, in the shape of the dialect', async (_name, script, status, message) => {
    engine.chat = script
    for (const wantsStream of [false, true]) {
      const res = await stream({ stream: wantsStream })
      const answer = (await res.json()) as { type?: string; error: { message: string; type: string } }
      expect([res.status, answer.error.message]).toEqual([status, message])
      expect(res.headers.get('content-type')).toBe('application/json')
      expect(answer.type).toBe(dialect === 'messages' ? 'error' : undefined)
    }
  })

  it.each<[string, number, string]>([
    [
      'data: {"error":{"code":400,"message":"exceeds the context size","type":"exceed_context_size_error"}}',
      400,
      'exceeds',
    ],
    ['data: {"error":{"code":500,"message":"no slot","type":"server_error"}}', 502, 'no slot'],
    ['data: {"choices":[{"delta":{"role":"assistant"}}]}\n\ndata: {"error":{"message":"no slot"}}', 502, 'no slot'],
    [': wait', 502, 'ended its answer too early'],
  ])('answers a stream that begins with a failure with a status: %s', async (event, status, message) => {
    engine.chat = streams([`${event}\n\n`])
    const res = await stream()
    expect([res.status, res.headers.get('content-type')]).toEqual([status, 'application/json'])
    expect(await res.json()).toMatchObject({ error: { message: expect.stringContaining(message) } })
  })

  it('answers 503 when the engine lacks the model, and asks the engine for its list', async () => {
    engine.chat = answersJson({ error: { message: 'model not found' } }, { status: 404 })
    const probes = engine.probes()
    const res = await stream()
    expect(await outcomeOf(res)).toBe('503 model_unavailable')
    await expect.poll(() => engine.probes()).toBeGreaterThan(probes)
  })

  it('answers 503 when the engine reports the missing model as a bad request', async () => {
    const { status, body: said } = recorded('llama-server/chat-unknown-model.http')
    const error = said.toString().replace("'unknown'", "'qwen3:8b'")
    engine.chat = answersJson(JSON.parse(error) as object, { status })
    const res = await stream()
    expect([status, await outcomeOf(res)]).toEqual([400, '503 model_unavailable'])
  })

  it('closes its connection after a stream, because a server may close it without saying so', async () => {
    const connections = async (wantsStream: boolean) => {
      await stream({ stream: wantsStream }).then((res) => res.text())
      return engine.lastChat().headers.connection
    }
    expect([await connections(true), await connections(false)]).toEqual(['close', 'keep-alive'])
  })

  it('answers 400 for a picture that the model cannot read, whatever the engine’s status', async () => {
    const { status, body: said } = recorded('llama-server/chat-image-refused.http')
    engine.chat = answersJson(JSON.parse(said.toString()) as object, { status })
    expect([status, (await stream()).status]).toEqual([500, 400])
  })

  it("answers 502 and not 401 when the engine refuses the gateway's own API key", async () => {
    engine.chat = answersJson({ error: { message: 'bad key' } }, { status: 401 })
    const res = await stream()
    expect(await outcomeOf(res)).toBe('502 upstream_refused_credential')
  })

  it('closes the call to the engine when the caller leaves', async () => {
    for (const script of [
      neverAnswers,
      streams(['data: {"choices":[{"delta":{"content":"a"}}]}\n\n'], { end: 'stalls' }),
    ]) {
      engine.chat = script
      const leaving = new AbortController()
      const asked = engine.calls.length
      const asking = gateway
        .post(path, { model: 'svc/fast', ...body, stream: true }, { signal: leaving.signal })
        .then((res) => res.text())
      await expect.poll(() => engine.calls.slice(asked).filter(isChatCall).length).toBe(1)
      leaving.abort()
      await expect(asking).rejects.toThrow()
      await expect.poll(() => engine.openCalls()).toBe(0)
    }
  })

  it('keeps a stream alive between events while the engine is silent', async () => {
    const first = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: {"choi'
    const { promise: heard, resolve: goOn } = Promise.withResolvers<undefined>()
    engine.chat = async ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(first)
      await heard
      res.end('ces":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    }
    const word = dialect === 'messages' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': keep-alive\n\n'
    const reader = (await stream()).body?.getReader()
    let text = ''
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      text += Buffer.from(read.value).toString()
      if (text.split(word).length > 2) goOn(undefined)
    }
    expect(text.split(word).length).toBeGreaterThan(2)
    const events = makeSseDecoder().push(Buffer.from(text))
    expect(check(events.map((event) => withIdentity(event)))).toEqual([])
  })
})

/** Chunks that a test writes by hand have no id. */
function withIdentity(event: SseEvent): SseEvent {
  if (event.event !== null || event.data === '[DONE]') return event
  const chunk = JSON.parse(event.data) as object
  return { ...event, data: JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...chunk }) }
}
