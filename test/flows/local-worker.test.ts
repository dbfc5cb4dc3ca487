import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { sseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { LOCAL_REASONING } from '../../src/gateway/dialects/local-reasoning.ts'
import { lists, startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { servedModel, startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { checkChatStream, checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import { answersJson, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { Script } from '../support/upstream.ts'
import { ALL_FIXTURES, finalResponse, fixture, FIXTURES, foldMessage, parsed, recorded } from '../translate/streams.ts'

const FAST = servedModel('svc/fast', { backendModel: 'qwen3:8b' })
const BOTH = servedModel('svc/both', { backendModel: 'qwen3:8b', upstreamModel: 'large-2026' })
const TEAM = { defaultModel: 'svc/fast', models: [FAST, BOTH] }

const CHAT = '/v1/chat/completions'
const STYLES = [
  { style: 'chat', path: CHAT, body: { messages: [{ role: 'user', content: 'hi' }] }, check: checkChatStream },
  {
    style: 'messages',
    path: '/vendorb/v1/messages',
    body: { max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] },
    check: checkMessagesStream,
  },
  { style: 'responses', path: '/v1/responses', body: { input: 'hi' }, check: checkResponsesStream },
  { style: 'responses (Codex)', path: '/codex/v1/responses', body: { input: 'hi' }, check: checkResponsesStream },
] as const
const TRANSLATED = STYLES.filter(({ style }) => style !== 'chat')

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

describe.each(STYLES)('the local worker in the style of $path', ({ path, style, body, check }) => {
  const stream = (more: object = {}) => gateway.post(path, { model: 'svc/fast', ...body, stream: true, ...more })

  it.each(ALL_FIXTURES)('streams %s in the grammar of the style, by the name of the service model', async (name) => {
    engine.chat = streams([fixture(name)])
    const res = await stream()
    expect(res.headers.get('x-svc-served-by')).toBe('local-engine')
    expect(res.headers.get('content-type')).toMatch(/^text\/event-stream/)
    const { events, ended } = await readEvents(res)
    // Chunks of the chat style are the engine's own, odd ones too.
    if (style !== 'chat' || !name.startsWith('lmstudio')) expect(check(events)).toEqual([])
    // A failure is told and never ends as a success does.
    expect(ended).toBe((FIXTURES.whole as readonly string[]).includes(name) ? 'well' : 'broken')
    expect(events.map(({ data }) => data).join('')).not.toMatch(/"model":"(?!svc)/)
  })

  it('breaks in its own grammar wherever the engine breaks', async () => {
    engine.chat = streams([fixture('ollama-text.sse').subarray(0, 900)], { end: 'breaks' })
    const { events, ended } = await readEvents(await stream())
    expect([check(events), ended]).toEqual([[], 'broken'])
  })

  it.each<[string, Script, number, string]>([
    ['a bad request', answersJson({ error: { message: 'odd', type: 'x', code: 3 } }, { status: 400 }), 400, 'odd'],
    ['an error that is a text', answersJson({ error: 'no more memory' }, { status: 500 }), 500, 'no more memory'],
    ['a model that loads', answersJson({ error: { message: 'Loading model' } }, { status: 503 }), 503, 'Loading model'],
    ['an error that says 200', answersJson({ error: 'Unexpected endpoint' }), 502, 'Unexpected endpoint'],
    [
      'a page',
      ({ res }) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>'),
      502,
      '<h1>Bad Gateway</h1>',
    ],
  ])('tells of %s with status and message, in the shape of the style', async (_name, script, status, message) => {
    engine.chat = script
    for (const wantsStream of [false, true]) {
      const res = await stream({ stream: wantsStream })
      const answer = (await res.json()) as { type?: string; error: { message: string; type: string } }
      expect([res.status, answer.error.message]).toEqual([status, message])
      expect(res.headers.get('content-type')).toBe('application/json')
      expect(answer.type).toBe(style === 'messages' ? 'error' : undefined)
    }
  })

  it('is not available when the engine has not got the model (503), and the engine is asked for its list', async () => {
    engine.chat = answersJson({ error: { message: 'model not found' } }, { status: 404 })
    const probes = engine.probes()
    const res = await stream()
    expect([res.status, await codeOf(res)]).toEqual([503, 'model_unavailable'])
    await expect.poll(() => engine.probes()).toBeGreaterThan(probes)
  })

  it('is not available (503) either when the engine says so as of a bad request', async () => {
    const { status, body: said } = recorded('llama-server/chat-unknown-model.http')
    engine.chat = answersJson(JSON.parse(said.toString()) as object, { status })
    const res = await stream()
    expect([status, res.status, await codeOf(res)]).toEqual([400, 503, 'model_unavailable'])
  })

  it('gives up its connection behind a stream, which a server may close without saying so', async () => {
    const connections = async (wantsStream: boolean) => {
      await stream({ stream: wantsStream }).then((res) => res.text())
      return engine.lastChat().headers.connection
    }
    expect([await connections(true), await connections(false)]).toEqual(['close', 'keep-alive'])
  })

  it('tells of a picture that the model cannot read as of a bad request, whatever the status', async () => {
    const { status, body: said } = recorded('llama-server/chat-image-refused.http')
    engine.chat = answersJson(JSON.parse(said.toString()) as object, { status })
    expect([status, (await stream()).status]).toEqual([500, 400])
  })

  it("never tells a caller that his token is bad because the gateway's own key is (502)", async () => {
    engine.chat = answersJson({ error: { message: 'bad key' } }, { status: 401 })
    const res = await stream()
    expect([res.status, await codeOf(res)]).toEqual([502, 'upstream_failed'])
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
      await expect.poll(() => engine.calls.slice(asked).filter(isChat).length).toBe(1)
      leaving.abort()
      await expect(asking).rejects.toThrow()
      await expect.poll(() => engine.openCalls()).toBe(0)
    }
  })

  it('says something every now and then while the engine is silent, at the boundary of events', async () => {
    const first = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\ndata: {"choi'
    const { promise: heard, resolve: goOn } = Promise.withResolvers<undefined>()
    engine.chat = async ({ res }) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      res.write(first)
      await heard
      res.end('ces":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
    }
    const word = style === 'messages' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': keep-alive\n\n'
    const reader = (await stream()).body?.getReader()
    let text = ''
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      text += Buffer.from(read.value).toString()
      if (text.split(word).length > 2) goOn(undefined)
    }
    expect(text.split(word).length).toBeGreaterThan(2)
    const events = sseDecoder().push(Buffer.from(text))
    expect(check(events.map((event) => withIdentity(event)))).toEqual([])
  })
})

describe.each(TRANSLATED)('$path on an engine of the chat style', ({ path, style, body }) => {
  const call = (more: object) => gateway.post(path, { model: 'svc/fast', ...body, ...more })

  it('is answered whole, in the shape of the style', async () => {
    const res = await call({})
    const answer = (await res.json()) as { model: string; content?: unknown; output?: { content: unknown }[] }
    expect([res.status, answer.model]).toEqual([200, 'svc/fast'])
    if (style === 'messages') expect(answer.content).toEqual([{ type: 'text', text: 'Hello!' }])
    else expect(answer.output?.[0]?.content).toMatchObject([{ type: 'output_text', text: 'Hello!' }])
  })

  it('asks for the alias with a clamped limit, and sends nothing of the query', async () => {
    const limit = style === 'messages' ? 'max_tokens' : 'max_output_tokens'
    await gateway.post(`${path}?beta=true`, { ...body, [limit]: 100_000, stream: true }).then((res) => res.text())
    const { url, body: sent } = engine.lastChat()
    expect(url).toBe(CHAT)
    expect(JSON.parse(sent.toString())).toMatchObject({
      model: 'qwen3:8b',
      max_tokens: 4096,
      stream_options: { include_usage: true },
    })
  })

  it('refuses by name what a chat engine cannot be asked', async () => {
    const [given, param] =
      style === 'messages'
        ? [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools.0']
        : [{ previous_response_id: 'resp_1' }, 'previous_response_id']
    const asked = engine.calls.length
    const res = await call(given)
    const { error } = (await res.json()) as { error: { code: string; message: string } }
    expect([res.status, error.code]).toEqual([400, 'invalid_request'])
    expect(error.message).toMatch(new RegExp(`^${param.replaceAll('.', '\\.')}: `))
    expect(engine.calls.slice(asked).filter(isChat)).toEqual([])
  })

  it('tells in the words of the vendor that the prompt is too long', async () => {
    const message = 'the request exceeds the available context size'
    engine.chat = answersJson({ error: { message, type: 'exceed_context_size_error' } }, { status: 400 })
    const { error } = (await (await call({})).json()) as { error: { code?: string; message: string } }
    if (style === 'messages') expect(error.message).toBe(`prompt is too long: ${message}`)
    else expect(error.code).toBe('context_length_exceeded')
  })
})

describe('an engine that speaks a style itself', () => {
  const MESSAGE = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'qwen3:8b',
    content: [{ type: 'text', text: 'native' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
  }
  const RESPONSE = { id: 'resp_1', object: 'response', model: 'qwen3:8b', status: 'completed', output: [], usage: null }
  const RESPONSE_EVENTS = [
    { type: 'response.created', sequence_number: 0, response: { ...RESPONSE, metadata: { model: 'x' } } },
    { type: 'response.completed', sequence_number: 1, response: RESPONSE },
  ]
  const MESSAGE_EVENTS = [
    { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 't', name: 'x', input: {} } },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: '{"message":{"model":"qwen3:8b"}}' },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: MESSAGE.usage },
    { type: 'message_stop' },
  ]

  const named = (events: readonly { type: string }[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  const answers =
    (whole: object, events: readonly { type: string }[]): Script =>
    (call) => {
      const { stream, tool_choice: choice } = JSON.parse(call.body.toString()) as {
        stream?: boolean
        tool_choice?: object
      }
      if (choice) return answersJson({ error: { message: 'no such tool' } }, { status: 400 })(call)
      return (stream ? streams(named(events)) : answersJson(whole))(call)
    }

  /** A gateway whose engine is known to speak this style. */
  async function startNative(style: 'messages' | 'responses', script: Script) {
    const native = await use(startEngine())
    native.routes = { [`/v1/${style}`]: script }
    const gateway = await use(startGateway({ team: TEAM, engine: native.url }))
    const path = style === 'messages' ? '/vendorb/v1/messages' : '/v1/responses'
    const body = style === 'messages' ? { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] } : { input: 'hi' }
    const call = (more: object = {}) => gateway.post(path, { model: 'svc/fast', ...body, ...more })
    expect((await call()).status).toBe(200)
    await expect.poll(() => foundOf(gateway)).toContainEqual(expect.objectContaining({ style }))
    return { native, gateway, call }
  }

  it('is translated for until that is known, and then gets the bytes as they are', async () => {
    const { native, gateway } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    expect(native.lastChat().url).toBe(CHAT)
    const sent = '{"max_tokens":100000, "model":"svc/fast","messages":[{"role":"user","content":"hi"}],"x":1.0}'
    const res = await gateway.post('/vendorb/v1/messages?beta=true', sent)
    expect(await res.json()).toEqual({ ...MESSAGE, model: 'svc/fast' })
    expect(native.last().url).toBe('/v1/messages?beta=true')
    expect(native.last().body.toString()).toBe(sent.replace('100000', '4096').replace('svc/fast', 'qwen3:8b'))
  })

  it('streams messages as they are, by the name of the service model, whatever a tool is told', async () => {
    const { call } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    const { events, ended } = await readEvents(await call({ stream: true }))
    expect(parsed(events)).toEqual([
      { type: 'message_start', message: { ...MESSAGE_EVENTS[0]?.message, model: 'svc/fast' } },
      ...MESSAGE_EVENTS.slice(1),
    ])
    expect([checkMessagesStream(events), ended]).toEqual([[], 'well'])
  })

  it('streams responses as they are, by the name of the service model', async () => {
    const { call } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const read = await readEvents(await call({ stream: true }))
    expect(parsed(read.events)).toEqual([
      { ...RESPONSE_EVENTS[0], response: { ...RESPONSE, metadata: { model: 'x' }, model: 'svc/fast' } },
      { ...RESPONSE_EVENTS[1], response: { ...RESPONSE, model: 'svc/fast' } },
    ])
    expect(read.ended).toBe('well')
  })

  it.each([
    ['ends without its last event', named(MESSAGE_EVENTS.slice(0, 2)), 'well'],
    ['breaks', named(MESSAGE_EVENTS.slice(0, 3)), 'breaks'],
  ] as const)('ends as a failure when the engine %s', async (_name, pieces, end) => {
    const { call, native } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    native.routes = { '/v1/messages': streams(pieces, { end }) }
    const { events, ended } = await readEvents(await call({ stream: true }))
    expect([parsed(events).at(-1)?.type, ended]).toEqual(['error', 'broken'])
  })

  it('ends a stream of the responses style with response.failed where the engine says `error`', async () => {
    const { call, native } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const created = { type: 'response.created', sequence_number: 0, response: RESPONSE }
    native.routes = { '/v1/responses': streams(named([created, { type: 'error', message: 'no slot' } as never])) }
    const { events } = await readEvents(await call({ stream: true }))
    expect(parsed(events).at(-1)).toMatchObject({
      type: 'response.failed',
      sequence_number: 1,
      response: { id: 'resp_1', model: 'svc/fast', status: 'failed', error: { message: 'no slot' } },
    })
  })

  it.each<[string, Script]>([
    ['answers 200 to every path', answersJson({ error: 'Unexpected endpoint or method. (POST /v1/messages)' })],
    ['answers 200 with another shape', answersJson({ object: 'chat.completion', choices: [] })],
    ['knows no such path', answersJson({ error: { message: 'File Not Found' } }, { status: 404 })],
    ['knows it, and not by POST', answersJson({}, { status: 405 })],
  ])('is told from one that %s', async (_name, script) => {
    const { native, call } = await startNative('messages', script)
    expect(await (await call()).json()).toMatchObject({ content: [{ text: 'Hello!' }] })
    expect(native.last().url).toBe(CHAT)
    expect(native.calls.filter(({ url }) => url === '/v1/messages').length).toBe(1)
  })

  it('is asked again where the first answer said nothing', async () => {
    const busy = await use(startEngine())
    busy.routes = { '/v1/messages': answersJson({ error: { message: 'Loading model' } }, { status: 503 }) }
    const gateway = await use(startGateway({ team: TEAM, engine: busy.url }))
    const call = () =>
      gateway.post('/vendorb/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
    await call()
    await expect.poll(() => busy.calls.filter(({ url }) => url === '/v1/messages').length).toBe(1)
    busy.routes = { '/v1/messages': answers(MESSAGE, []) }
    await expect
      .poll(async () => (await (await call()).json()) as object)
      .toMatchObject({ content: [{ text: 'native' }] })
  })

  it('is translated for again once it does not speak the style any more', async () => {
    const { native, call } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    native.routes = {}
    expect(await codeOf(await call())).toBe('model_unavailable')
    expect(await (await call()).json()).toMatchObject({ content: [{ text: 'Hello!' }] })
  })

  it('and overlooks previous_response_id is never asked to remember (400)', async () => {
    const { call } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const res = await call({ previous_response_id: 'resp_1' })
    expect([res.status, await codeOf(res)]).toEqual([400, 'invalid_request'])
  })

  it('and remembers responses is asked to', async () => {
    const stateful: Script = (call) => {
      const { previous_response_id: id } = JSON.parse(call.body.toString()) as { previous_response_id?: string }
      const knows = id === undefined || id === 'resp_1'
      return (knows ? answers(RESPONSE, RESPONSE_EVENTS) : answersJson({ error: {} }, { status: 404 }))(call)
    }
    const { native, call } = await startNative('responses', stateful)
    expect((await call({ previous_response_id: 'resp_1' })).status).toBe(200)
    expect(JSON.parse(native.last().body.toString())).toMatchObject({ previous_response_id: 'resp_1' })
  })

  it.each([
    ['messages', checkMessagesStream],
    ['responses', checkResponsesStream],
  ] as const)('in a way that cannot be relied on is translated for: llama-server, %s', async (style, check) => {
    const { native, call } = await startNative(style, (call) => {
      const { stream } = JSON.parse(call.body.toString()) as { stream?: boolean }
      const { type, body } = recorded(`llama-server/${style}-${stream ? 'greeting-stream' : 'text'}.http`)
      call.res.writeHead(200, { 'content-type': type }).end(body)
    })
    const { events, ended } = await readEvents(await call({ stream: true }))
    expect([check(events), ended, native.last().url]).toEqual([[], 'well', CHAT])
  })

  it('gets its errors handed on as they are where they have the shape of the style', async () => {
    const { native, call } = await startNative('messages', answers(MESSAGE, []))
    const own = { type: 'error', error: { type: 'invalid_request_error', message: 'odd' }, request_id: 'r' }
    native.routes = { '/v1/messages': answersJson(own, { status: 400 }) }
    expect(await (await call()).json()).toEqual(own)
    native.routes = { '/v1/messages': answersJson({ error: { code: 400, message: 'odd' } }, { status: 400 }) }
    expect(await (await call()).json()).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'odd' },
    })
  })
})

describe('an operation that not every engine knows', () => {
  const EMBEDDINGS = { object: 'list', data: [{ index: 0, embedding: [0.5] }], model: 'qwen3:8b' }
  const COMPLETION = { id: 'c', object: 'text_completion', choices: [{ index: 0, text: 'x' }], model: 'qwen3:8b' }
  const OPERATIONS = [
    { path: '/v1/embeddings', goesTo: '/v1/embeddings', body: { input: 'x' }, answer: EMBEDDINGS },
    { path: '/v1/completions', goesTo: '/v1/completions', body: { prompt: 'x' }, answer: COMPLETION },
    {
      path: '/vendorb/v1/messages/count_tokens',
      goesTo: '/v1/messages/count_tokens',
      body: { messages: [{ role: 'user', content: 'x' }] },
      answer: { input_tokens: 3 },
    },
  ]

  it.each(OPERATIONS)('is asked by its alias and answered by the service model: $path', async (operation) => {
    const { path, goesTo, body, answer } = operation
    engine.routes = { [goesTo]: answersJson(answer) }
    const res = await gateway.post(path, { ...body, model: 'svc/fast', max_tokens: 100_000 })
    expect([res.status, await res.json()]).toEqual([200, 'model' in answer ? { ...answer, model: 'svc/fast' } : answer])
    expect(JSON.parse(engine.last().body.toString())).toEqual({ ...body, model: 'qwen3:8b', max_tokens: 4096 })
  })

  it.each(OPERATIONS)(
    'is not supported (501) where the answer has another shape, whatever its status: $path',
    async (operation) => {
      const { path, goesTo, body } = operation
      const strangers: Script[] = [
        answersJson({ error: `Unexpected endpoint or method. (POST ${goesTo})` }),
        answersJson({ error: { message: 'File Not Found' } }, { status: 404 }),
        ({ res }) => void res.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found'),
        answersJson({ error: { code: 501, message: 'This server does not support embeddings.' } }, { status: 501 }),
      ]
      for (const script of strangers) {
        engine.routes = { [goesTo]: script }
        const res = await gateway.post(path, { ...body, model: 'svc/fast' })
        expect([res.status, await codeOf(res)]).toEqual([501, 'not_supported'])
      }
    },
  )

  it('is not available (503) where the engine has not got the model', async () => {
    const empty = await use(startEngine([]))
    const gateway = await use(startGateway({ team: TEAM, engine: empty.url }))
    await gateway.get('/v1/workers')
    const res = await gateway.post('/v1/embeddings', { input: 'x' })
    expect([res.status, await codeOf(res)]).toEqual([503, 'model_unavailable'])
  })

  it('streams a completion by the name of the service model', async () => {
    const piece = `data: ${JSON.stringify({ ...COMPLETION, choices: [{ index: 0, text: 'x', finish_reason: 'stop' }] })}\n\n`
    engine.routes = { '/v1/completions': streams([piece, 'data: [DONE]\n\n']) }
    const res = await gateway.post('/v1/completions', { prompt: 'x', stream: true })
    expect(await res.text()).toBe(`${piece.replace('qwen3:8b', 'svc/fast')}data: [DONE]\n\n`)
  })
})

describe('a session that moves', () => {
  it('from the local worker to the upstream leaves the reasoning behind that only the worker knows', async () => {
    const upstream = await use(startUpstream())
    const engine = await use(startEngine())
    const gateway = await use(startGateway({ team: TEAM, vendorb: upstream.url, engine: engine.url }))
    engine.chat = streams([fixture('ollama-thinking-two-calls.sse')])
    const first = { model: 'svc/both', max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] }
    const { events } = await readEvents(await gateway.post('/vendorb/v1/messages', { ...first, stream: true }))
    const { content } = foldMessage(events)
    expect(content[0]).toMatchObject({ type: 'thinking', signature: LOCAL_REASONING })

    engine.listing = lists([])
    await expect
      .poll(async () => (await (await gateway.get('/v1/workers')).text()).includes('model_missing'), { timeout: 5_000 })
      .toBe(true)
    const messages = [...first.messages, { role: 'assistant', content }]
    await gateway.post('/vendorb/v1/messages', { ...first, messages })
    const sent = JSON.parse(upstream.last().body.toString()) as { model: string; messages: { content: unknown }[] }
    expect(sent).toMatchObject({ model: 'large-2026', messages: [{}, { content: content.slice(1) }] })
  })
})

describe('tools', () => {
  it.each(TRANSLATED)('reach the client of $path as calls, parallel ones too', async ({ path, body, style }) => {
    engine.chat = streams([fixture('vllm-interleaved-calls.sse')])
    const { events } = await readEvents(await gateway.post(path, { ...body, stream: true }))
    const calls =
      style === 'messages'
        ? foldMessage(events).content.filter(({ type }) => type === 'tool_use')
        : (finalResponse(events).output as { type: string }[]).filter(({ type }) => type === 'function_call')
    expect(calls.length).toBe(2)
  })
})

/** Chunks that a test writes by hand have no id and no model. */
function withIdentity(event: SseEvent): SseEvent {
  if (event.event !== null || event.data === '[DONE]') return event
  const chunk = JSON.parse(event.data) as object
  return { ...event, data: JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...chunk }) }
}

function isChat({ url }: { url: string }): boolean {
  return url.endsWith(CHAT)
}

function foundOf(gateway: TestGateway): object[] {
  return gateway.log.filter(({ event }) => event === 'worker.style_found').map(({ fields }) => fields)
}

async function readEvents(res: Response): Promise<{ events: SseEvent[]; ended: 'well' | 'broken' }> {
  const decoder = sseDecoder()
  const events: SseEvent[] = []
  const reader = res.body?.getReader()
  try {
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      events.push(...decoder.push(read.value))
    }
    return { events, ended: 'well' }
  } catch {
    return { events, ended: 'broken' }
  }
}

async function codeOf(res: Response): Promise<string> {
  return ((await res.json()) as { error: { code: string } }).error.code
}

/** Disposed of when the test is over. */
async function use<T extends AsyncDisposable>(opening: Promise<T>): Promise<T> {
  const opened = await opening
  onTestFinished(() => opened[Symbol.asyncDispose]())
  return opened
}
