import { describe, expect, it, onTestFinished } from 'vitest'
import { toCompactionItem } from '../../src/gateway/dialects/responses/compaction.ts'
import { startEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { CHAT_PATH, TEAM } from '../support/local-worker.ts'
import { readEvents } from '../support/read-events.ts'
import { outcomeOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import { answersJson, streams } from '../support/upstream.ts'
import type { Script } from '../support/upstream.ts'
import { parsed, recorded } from '../translate/streams.ts'

describe('an engine that speaks a dialect itself', () => {
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

  /** A gateway that has found out whether its engine speaks this dialect. */
  async function startNative(dialect: 'messages' | 'responses', script: Script, team = TEAM) {
    const native = await startEngine()
    onTestFinished(() => native[Symbol.asyncDispose]())
    native.routes = { [`/v1/${dialect}`]: script }
    const gateway = await startGateway({ team, engine: native.url })
    onTestFinished(() => gateway[Symbol.asyncDispose]())
    const path = dialect === 'messages' ? '/vendorb/v1/messages' : '/v1/responses'
    const body =
      dialect === 'messages' ? { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] } : { input: 'hi' }
    const call = (more: object = {}) => gateway.post(path, { model: 'svc/fast', ...body, ...more })
    expect((await call()).status).toBe(200)
    await expect.poll(() => dialectsFound(gateway)).toContainEqual(expect.objectContaining({ dialect }))
    return { native, gateway, call }
  }

  it('gets translated calls until that is known, and then the bytes as they are', async () => {
    const { native, gateway } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    expect(native.lastChat().url).toBe(CHAT_PATH)
    const sent = '{"max_tokens":100000, "model":"svc/fast","messages":[{"role":"user","content":"hi"}],"x":1.0}'
    const res = await gateway.post('/vendorb/v1/messages?beta=true', sent)
    expect(await res.json()).toEqual({ ...MESSAGE, model: 'svc/fast' })
    expect(native.last().url).toBe('/v1/messages?beta=true')
    expect(native.last().body.toString()).toBe(sent.replace('100000', '4096').replace('svc/fast', 'qwen3:8b'))
  })

  it('gets no call on the connection of a probe, which it may close behind a stream without saying so', async () => {
    const { native } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const probes = native.calls.filter(({ url }) => url === '/v1/responses')
    expect(probes.map(({ headers }) => headers.connection)).toEqual(['close', 'close'])
  })

  it('streams messages as they are, with the name of the service model, whatever a tool gets as input', async () => {
    const { call } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    const { events, ended } = await readEvents(await call({ stream: true }))
    expect(parsed(events)).toEqual([
      { type: 'message_start', message: { ...MESSAGE_EVENTS[0]?.message, model: 'svc/fast' } },
      ...MESSAGE_EVENTS.slice(1),
    ])
    expect([checkMessagesStream(events), ended]).toEqual([[], 'well'])
  })

  it('streams responses as they are, with the name of the service model', async () => {
    const { call } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const read = await readEvents(await call({ stream: true }))
    expect(parsed(read.events)).toEqual([
      { ...RESPONSE_EVENTS[0], response: { ...RESPONSE, metadata: { model: 'x' }, model: 'svc/fast' } },
      { ...RESPONSE_EVENTS[1], response: { ...RESPONSE, model: 'svc/fast' } },
    ])
    expect(read.ended).toBe('well')
  })

  it.each<[string, object[]]>([
    ['asks for a compaction', [{ role: 'user', content: 'hi' }, { type: 'compaction_trigger' }]],
    ['has a compaction', [toCompactionItem('cmp_1', 'a summary'), { role: 'user', content: 'hi' }]],
  ])('gets a responses call translated that %s, which only the vendor knows', async (_name, input) => {
    const { native, call } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    expect((await call({ input })).status).toBe(200)
    expect(native.last().url).toBe(CHAT_PATH)
    expect(native.last().body.toString()).not.toContain('compaction')
  })

  const TOOL = { type: 'function', name: 'read', parameters: { type: 'object', properties: {} } }
  it.each<[string, object]>([
    ['namespaces', { tools: [{ type: 'namespace', name: 'mcp__files', tools: [TOOL] }] }],
    ['custom tools', { tools: [{ ...TOOL, type: 'custom' }] }],
    [
      'added namespaces',
      { input: [{ type: 'additional_tools', tools: [{ type: 'namespace', name: 'mcp__files', tools: [TOOL] }] }] },
    ],
  ])(
    'gets a responses call with %s translated, which other servers drop (codex#23186, codex#33263)',
    async (_, body) => {
      const { native, call } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
      expect((await call(body)).status).toBe(200)
      expect(native.last().url).toBe(CHAT_PATH)
      expect(native.last().body.toString()).toContain('"type":"function"')
    },
  )

  it.each([
    ['creates', { type: 'create' }, 200],
    ['continues', { type: 'continue', previous_message_id: 'msg_1' }, 404],
  ])(
    'never gets a messages call as it is that %s a thread, which only the vendor keeps',
    async (_name, thread, status) => {
      const { native, call } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
      const before = native.calls.filter(({ url }) => url === '/v1/messages').length
      expect((await call({ thread })).status).toBe(status)
      expect(native.calls.filter(({ url }) => url === '/v1/messages').length).toBe(before)
    },
  )

  it.each([
    ['ends without its last event', named(MESSAGE_EVENTS.slice(0, 2)), 'well'],
    ['breaks', named(MESSAGE_EVENTS.slice(0, 3)), 'breaks'],
  ] as const)('has its stream end as a failure when it %s', async (_name, pieces, end) => {
    const { call, native } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    native.routes = { '/v1/messages': streams(pieces, { end }) }
    const { events, ended } = await readEvents(await call({ stream: true }))
    expect([parsed(events).at(-1)?.type, ended]).toEqual(['error', 'well'])
  })

  it('has its responses stream end with response.failed where it sends an error event', async () => {
    const { call, native } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const created = { type: 'response.created', sequence_number: 0, response: RESPONSE }
    const added = { type: 'response.output_item.added', sequence_number: 1, item: {} }
    native.routes = {
      '/v1/responses': streams(named([created, added, { type: 'error', message: 'no slot' } as never])),
    }
    const { events } = await readEvents(await call({ stream: true }))
    expect(parsed(events).at(-1)).toMatchObject({
      type: 'response.failed',
      sequence_number: 2,
      response: { id: 'resp_1', model: 'svc/fast', status: 'failed', error: { message: 'no slot' } },
    })
  })

  it('has 400 for a prompt that is too long, although the engine says so within a stream', async () => {
    const { call, native } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    const error = { type: 'invalid_request_error', message: 'exceeds the available context size' }
    const [start] = MESSAGE_EVENTS
    native.routes = { '/v1/messages': streams(named([start, { type: 'error', error }] as never)) }
    const response = await call({ stream: true })
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'application/json'])
    expect(await response.json()).toMatchObject({ error: { message: expect.stringMatching(/^prompt is too long/) } })
  })

  it.each<[string, Script]>([
    ['answers 200 to every path', answersJson({ error: 'Unexpected endpoint or method. (POST /v1/messages)' })],
    ['answers 200 with another shape', answersJson({ object: 'chat.completion', choices: [] })],
    ['knows no such path', answersJson({ error: { message: 'File Not Found' } }, { status: 404 })],
    ['knows it, and not by POST', answersJson({}, { status: 405 })],
  ])('is not confused with one that %s', async (_name, script) => {
    const { native, call } = await startNative('messages', script)
    expect(await (await call()).json()).toMatchObject({ content: [{ text: 'Hello!' }] })
    expect(native.last().url).toBe(CHAT_PATH)
    expect(native.calls.filter(({ url }) => url === '/v1/messages').length).toBe(1)
  })

  it('is probed again when the first probe said nothing', async () => {
    await using busy = await startEngine()
    busy.routes = { '/v1/messages': answersJson({ error: { message: 'Loading model' } }, { status: 503 }) }
    await using gateway = await startGateway({ team: TEAM, engine: busy.url })
    const call = () =>
      gateway.post('/vendorb/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
    await call()
    await expect.poll(() => busy.calls.filter(({ url }) => url === '/v1/messages').length).toBe(1)
    busy.routes = { '/v1/messages': answers(MESSAGE, []) }
    await expect
      .poll(async () => (await (await call()).json()) as object)
      .toMatchObject({ content: [{ text: 'native' }] })
  })

  it('gets translated calls again when it no longer speaks the dialect', async () => {
    const { native, call } = await startNative('messages', answers(MESSAGE, MESSAGE_EVENTS))
    native.routes = {}
    expect(await outcomeOf(await call())).toBe('503 model_unavailable')
    expect(await (await call()).json()).toMatchObject({ content: [{ text: 'Hello!' }] })
  })

  describe('after a call of a model that it lacks', () => {
    const lacks = (status: number) => answersJson({ error: { message: "model 'gone:1b' not found" } }, { status })
    const lackingWith =
      (status: number): Script =>
      (call) =>
        (call.body.includes('gone:1b') ? lacks(status) : answers(MESSAGE, MESSAGE_EVENTS))(call)
    const team = { ...TEAM, models: [...TEAM.models, servedModel('svc/gone', { backendModel: 'gone:1b' })] }

    it.each([404, 400])('still gets calls of others as they are: %i', async (status) => {
      const { call } = await startNative('messages', lackingWith(status), team)
      expect(await outcomeOf(await call({ model: 'svc/gone' }))).toBe('503 model_unavailable')
      expect(await (await call()).json()).toMatchObject({ content: [{ text: 'native' }] })
    })

    it.each([404, 400])('is probed again with another: %i', async (status) => {
      await using native = await startEngine()
      native.routes = { '/v1/messages': lackingWith(status) }
      await using gateway = await startGateway({ team, engine: native.url })
      const post = (model: string) =>
        gateway.post('/vendorb/v1/messages', { model, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] })
      await post('svc/gone')
      await expect.poll(() => native.calls.filter(({ url }) => url === '/v1/messages').length).toBe(1)
      await expect
        .poll(async () => (await (await post('svc/fast')).json()) as object)
        .toMatchObject({ content: [{ text: 'native' }] })
    })
  })

  it('is not sent a previous_response_id that it would ignore (400)', async () => {
    const { call } = await startNative('responses', answers(RESPONSE, RESPONSE_EVENTS))
    const res = await call({ previous_response_id: 'resp_1' })
    expect(await outcomeOf(res)).toBe('400 previous_response_not_found')
  })

  it('is sent a previous_response_id, which it may not know', async () => {
    const stateful: Script = (call) => {
      const { previous_response_id: id } = JSON.parse(call.body.toString()) as { previous_response_id?: string }
      const knows = id === undefined || id === 'resp_1'
      const unknown = answersJson({ error: { message: 'No such response.' } }, { status: 404 })
      return (knows ? answers(RESPONSE, RESPONSE_EVENTS) : unknown)(call)
    }
    const { native, call } = await startNative('responses', stateful)
    expect((await call({ previous_response_id: 'resp_1' })).status).toBe(200)
    expect(JSON.parse(native.last().body.toString())).toMatchObject({ previous_response_id: 'resp_1' })
    // An engine that has lost its answers still has the model, and still speaks the dialect.
    const lost = await call({ previous_response_id: 'resp_2' })
    expect([lost.status, await lost.json()]).toEqual([404, { error: { message: 'No such response.' } }])
    expect((await call({ previous_response_id: 'resp_1' })).status).toBe(200)
  })

  it.each([
    ['messages', checkMessagesStream],
    ['responses', checkResponsesStream],
  ] as const)('gets translated calls where its own %s cannot be relied on: llama-server', async (dialect, check) => {
    const { native, call } = await startNative(dialect, (call) => {
      const { stream } = JSON.parse(call.body.toString()) as { stream?: boolean }
      const { type, body } = recorded(`llama-server/${dialect}-${stream ? 'greeting-stream' : 'text'}.http`)
      call.res.writeHead(200, { 'content-type': type }).end(body)
    })
    const { events, ended } = await readEvents(await call({ stream: true }))
    expect([check(events), ended, native.last().url]).toEqual([[], 'well', CHAT_PATH])
  })

  it('has its errors handed on as they are where they have the shape of the dialect', async () => {
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

function dialectsFound(gateway: TestGateway): object[] {
  return gateway.log.filter(({ event }) => event === 'worker.dialect_found').map(({ fields }) => fields)
}
