import Anthropic from '@anthropic-ai/sdk'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { TOKEN } from '../support/gateway.ts'
import { answersJson, neverAnswers } from '../support/upstream.ts'
import { ALL_WEATHER, WEATHER, weatherOf } from './agent-engine.ts'
import { startServing, watchedFetch } from './serving.ts'
import type { Serving } from './serving.ts'

const MODEL = 'svc/fast'
const TOOLS: Anthropic.Tool[] = [
  { name: WEATHER.name, description: WEATHER.description, input_schema: { ...WEATHER.parameters, required: ['city'] } },
]

describe.each(['local', 'upstream'] as const)('the @anthropic-ai/sdk package, served by %s', (by) => {
  let serving: Serving
  let client: Anthropic
  const violations: string[] = []
  const watched = watchedFetch(violations)
  const clientOf = (credential: { apiKey: string } | { authToken: string }) =>
    new Anthropic({
      apiKey: null,
      authToken: null,
      ...credential,
      baseURL: `${serving.gateway.url}/vendorb`,
      fetch: watched.fetch,
    })
  const ask = (content: Anthropic.MessageParam['content']) => ({
    model: MODEL,
    max_tokens: 1000,
    messages: [{ role: 'user' as const, content }],
  })

  beforeAll(async () => {
    serving = await startServing(by)
    client = clientOf({ authToken: TOKEN })
  })
  beforeEach(() => serving.reset())
  afterAll(async () => {
    await serving[Symbol.asyncDispose]()
    await watched.settled()
    expect(violations).toEqual([])
  })

  it.each([{ apiKey: TOKEN }, { authToken: TOKEN }])('creates a message with the credential %o', async (credential) => {
    const message = await clientOf(credential).messages.create({ ...ask('Hello'), system: 'Be brief.' })
    expect(message).toMatchObject({
      type: 'message',
      model: MODEL,
      content: [{ type: 'text', text: 'Hello (0 images)' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 10, output_tokens: 5 },
    })
    expect(message._request_id).toMatch(/^req_/)
  })

  it('streams a message', async () => {
    const texts: string[] = []
    const stream = client.messages.stream(ask('Hello you')).on('text', (text) => void texts.push(text))
    const message = await stream.finalMessage()
    expect(texts.join('')).toBe('Hello you (0 images)')
    expect(message).toMatchObject({ model: MODEL, usage: { input_tokens: 10, output_tokens: 5 } })
  })

  it('sends images', async () => {
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: 'iVBORw0KGgo=' }
    const message = await client.messages.create(
      ask([
        { type: 'image', source },
        { type: 'text', text: 'Look' },
      ]),
    )
    expect(message.content).toMatchObject([{ text: 'Look (1 images)' }])
    expect(serving.engine.lastChat().body.toString()).toContain('data:image/png;base64,iVBORw0KGgo=')
  })

  it.each([false, true])('completes the tool loop of an agent (streamed: %s)', async (streamed) => {
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'The weather?' }]
    for (let turn = 0; turn < 5; turn++) {
      const request = { model: MODEL, max_tokens: 1000, messages, tools: TOOLS }
      const message = streamed
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request)
      const calls = message.content.filter((block) => block.type === 'tool_use')
      if (message.stop_reason !== 'tool_use') {
        expect([turn, message.content]).toMatchObject([2, [{ text: ALL_WEATHER }]])
        return
      }
      expect(calls.length).toBe(turn === 0 ? 2 : 1)
      messages.push({ role: 'assistant', content: message.content })
      messages.push({
        role: 'user',
        content: calls.map(({ id, input }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: [{ type: 'text', text: weatherOf(input) }],
        })),
      })
    }
    throw new Error('The loop did not end.')
  })

  it('runs the tools of a tool runner, which asks for a thread', async () => {
    const run = (input: unknown) => weatherOf(input)
    const tools = TOOLS.map((tool) => ({ ...tool, run, parse: (input: unknown) => input }))
    const { messages } = ask('The weather?')
    const last = await client.beta.messages.toolRunner({ model: MODEL, max_tokens: 1000, messages, tools })
    expect(last).toMatchObject({ content: [{ text: ALL_WEATHER }] })
  })

  it('keeps the whole conversation of a thread that no backend holds', async () => {
    const thread = client.beta.messages.thread({ model: MODEL, max_tokens: 1000 })
    for (const content of ['First', 'Second', 'Third']) await thread.send({ role: 'user', content })
    const { messages } = JSON.parse(serving.engine.lastChat().body.toString()) as { messages: { content: string }[] }
    expect(messages.map(({ content }) => content)).toEqual([
      ...['First', 'First (0 images)', 'Second', 'Second (0 images)', 'Third'],
    ])
  })

  describe('errors', () => {
    it('are AuthenticationError for an unknown credential', async () => {
      const call = clientOf({ apiKey: 'wrong' }).messages.create(ask('x'))
      await expect(call).rejects.toThrow(Anthropic.AuthenticationError)
      await expect(call).rejects.toMatchObject({ type: 'authentication_error' })
    })

    it('are PermissionDeniedError for a model that the team may not call', async () => {
      const call = client.messages.create({ ...ask('x'), model: 'svc/draft' })
      await expect(call).rejects.toThrow(Anthropic.PermissionDeniedError)
      await expect(call).rejects.toMatchObject({ type: 'permission_error' })
    })

    it('are BadRequestError that names an unsupported tool', async () => {
      const tools: Anthropic.ToolUnion[] = [{ type: 'bash_20250124', name: 'bash' }]
      const call = client.messages.create({ ...ask('x'), tools })
      await expect(call).rejects.toThrow(Anthropic.BadRequestError)
      await expect(call).rejects.toThrow(/tools\.0: .*bash_20250124/)
    })

    it('with x-should-retry: false are not retried', async () => {
      serving.engine.chat = answersJson({ error: { message: 'no such model' } }, { status: 404 })
      const before = serving.engine.calls.filter(({ url }) => url.endsWith('/chat/completions')).length
      await expect(client.messages.create(ask('x'))).rejects.toThrow(Anthropic.InternalServerError)
      expect(serving.engine.calls.filter(({ url }) => url.endsWith('/chat/completions')).length - before).toBe(1)
    })

    it('for a conversation that is too long have the message that makes an agent shorten it', async () => {
      const error = { message: 'maximum context length is 4096', code: 'context_length_exceeded' }
      serving.engine.chat = answersJson({ error }, { status: 400 })
      const call = client.messages.create(ask('x'))
      await expect(call).rejects.toThrow(Anthropic.BadRequestError)
      await expect(call).rejects.toThrow(/prompt is too long/)
    })

    it('in the middle of a stream reject the message', async () => {
      serving.engine.chat = ({ res }) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write('data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', () => res.destroy())
      }
      await expect(client.messages.stream(ask('x')).finalMessage()).rejects.toThrow()
    })
  })

  it('aborts the call to the engine when the client aborts', async () => {
    serving.engine.chat = neverAnswers
    const stream = client.messages.stream(ask('x'))
    const reading = stream.finalMessage()
    await expect.poll(() => serving.engine.openCalls()).toBe(1)
    stream.abort()
    await expect(reading).rejects.toThrow(Anthropic.APIUserAbortError)
    await expect.poll(() => serving.engine.openCalls()).toBe(0)
  })

  it('lists the models', async () => {
    const ids: string[] = []
    for await (const { id } of client.models.list({ limit: 1000 })) ids.push(id)
    expect(ids).toEqual(['svc/fast', 'svc/draft'])
  })

  it('counts tokens when the engine can, and rejects with not_supported when it cannot', async () => {
    const { model, messages } = ask('x')
    await expect(client.messages.countTokens({ model, messages })).rejects.toMatchObject({
      status: 501,
      type: 'not_supported',
    })
    serving.engine.routes = { '/v1/messages/count_tokens': answersJson({ input_tokens: 7 }) }
    expect(await client.messages.countTokens({ model, messages })).toMatchObject({ input_tokens: 7 })
  })
})
