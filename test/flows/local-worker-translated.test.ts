import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { UNSIGNED_MARK } from '../../src/gateway/dialects/unsigned-content.ts'
import { lists, startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { CHAT_PATH, isChatCall, TEAM, TRANSLATED_OPERATIONS } from '../support/local-worker.ts'
import { readEvents } from '../support/read-events.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import { finalResponse, fixture, foldMessage } from '../translate/streams.ts'

let engine: TestEngine
let gateway: TestGateway

beforeAll(async () => {
  engine = await startEngine()
  gateway = await startGateway({ team: TEAM, engine: engine.url })
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

describe.each(TRANSLATED_OPERATIONS)('$path on an engine that speaks chat only', ({ path, dialect, body }) => {
  const call = (more: object) => gateway.post(path, { model: 'svc/fast', ...body, ...more })

  it('is answered in the shape of its dialect', async () => {
    const res = await call({})
    const answer = (await res.json()) as { model: string; content?: unknown; output?: { content: unknown }[] }
    expect([res.status, answer.model]).toEqual([200, 'svc/fast'])
    if (dialect === 'messages') expect(answer.content).toMatchObject([{ type: 'text', text: 'Hello!' }])
    else expect(answer.output?.[0]?.content).toMatchObject([{ type: 'output_text', text: 'Hello!' }])
  })

  it('asks for the backend’s model with a clamped limit, and sends nothing of the query', async () => {
    const limit = dialect === 'messages' ? 'max_tokens' : 'max_output_tokens'
    await gateway.post(`${path}?beta=true`, { ...body, [limit]: 100_000, stream: true }).then((res) => res.text())
    const { url, body: sent } = engine.lastChat()
    expect(url).toBe(CHAT_PATH)
    expect(JSON.parse(sent.toString())).toMatchObject({
      model: 'qwen3:8b',
      max_tokens: 4096,
      stream_options: { include_usage: true },
    })
  })

  it('refuses what a chat engine cannot be asked, and names the parameter', async () => {
    const [given, param] =
      dialect === 'messages'
        ? [{ tools: [{ type: 'bash_20250124', name: 'bash' }] }, 'tools.0']
        : [{ conversation: 'conv_1' }, 'conversation']
    const asked = engine.calls.length
    const res = await call(given)
    const { error } = (await res.json()) as { error: { code: string; message: string } }
    expect([res.status, error.code]).toEqual([400, 'invalid_request'])
    expect(error.message).toMatch(new RegExp(`^${param.replaceAll('.', '\\.')}: `))
    expect(engine.calls.slice(asked).filter(isChatCall)).toEqual([])
  })

  it('reports a prompt that is too long in the vendor’s words', async () => {
    const message = 'the request exceeds the available context size'
    engine.chat = answersJson({ error: { message, type: 'exceed_context_size_error' } }, { status: 400 })
    const { error } = (await (await call({})).json()) as { error: { code?: string; message: string } }
    if (dialect === 'messages') expect(error.message).toBe(`prompt is too long: ${message}`)
    else expect(error.code).toBe('context_length_exceeded')
  })
})

describe('tool calls', () => {
  it.each(TRANSLATED_OPERATIONS)('reach the client of $path, also parallel ones', async ({ path, body, dialect }) => {
    engine.chat = streams([fixture('vllm-interleaved-calls.sse')])
    const { events } = await readEvents(await gateway.post(path, { ...body, stream: true }))
    const calls =
      dialect === 'messages'
        ? foldMessage(events).content.filter(({ type }) => type === 'tool_use')
        : (finalResponse(events).output as { type: string }[]).filter(({ type }) => type === 'function_call')
    expect(calls.length).toBe(2)
  })
})

describe('a session that moves from the local worker to an upstream', () => {
  it('leaves behind the reasoning that only the worker knows', async () => {
    await using upstream = await startUpstream()
    await using engine = await startEngine()
    await using gateway = await startGateway({ team: TEAM, vendorb: upstream.url, engine: engine.url })
    engine.chat = streams([fixture('ollama-thinking-two-calls.sse')])
    const first = { model: 'svc/both', max_tokens: 99, messages: [{ role: 'user', content: 'hi' }] }
    const { events } = await readEvents(await gateway.post('/vendorb/v1/messages', { ...first, stream: true }))
    const { content } = foldMessage(events)
    expect(content[0]).toMatchObject({ type: 'thinking', signature: UNSIGNED_MARK })

    engine.listing = lists([])
    await expect
      .poll(async () => (await (await gateway.get('/v1/workers')).text()).includes('model_missing'), { timeout: 5_000 })
      .toBe(true)
    const messages = [...first.messages, { role: 'assistant', content }]
    // The model comes last, because its position changes when reasoning before it is removed.
    await gateway.post('/vendorb/v1/messages', { max_tokens: 99, messages, model: 'svc/both' })
    const sent = JSON.parse(upstream.last().body.toString()) as { model: string; messages: { content: unknown }[] }
    expect(sent).toMatchObject({ model: 'large-2026', messages: [{}, { content: content.slice(1) }] })
  })
})
