import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { TOKEN } from '../support/gateway.ts'
import { answersJson, neverAnswers } from '../support/upstream.ts'
import { ALL_WEATHER, WEATHER, weatherOf } from './agent-engine.ts'
import { startServing, watchedFetch } from './serving.ts'
import type { Serving } from './serving.ts'

const MODEL = 'svc/fast'
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const CHAT_TOOLS = [{ type: 'function' as const, function: WEATHER }]
const TOOLS = [{ type: 'function' as const, strict: true, ...WEATHER }]

describe.each(['local', 'upstream'] as const)('the openai package, served by %s', (by) => {
  let serving: Serving
  let client: OpenAI
  const violations: string[] = []
  const watched = watchedFetch(violations)
  const clientOf = (apiKey = TOKEN, group = '/v1') =>
    new OpenAI({ apiKey, baseURL: serving.gateway.url + group, fetch: watched.fetch })

  beforeAll(async () => {
    serving = await startServing(by)
    client = clientOf()
  })
  beforeEach(() => serving.reset())
  afterAll(async () => {
    await serving[Symbol.asyncDispose]()
    await watched.settled()
    expect(violations).toEqual([])
  })

  describe('chat completions', () => {
    const ask = (content: OpenAI.ChatCompletionUserMessageParam['content']) => ({
      model: MODEL,
      messages: [{ role: 'user' as const, content }],
    })

    it('are created', async () => {
      const completion = await client.chat.completions.create(ask('Hello'))
      expect(completion).toMatchObject({
        model: MODEL,
        choices: [{ message: { content: 'Hello (0 images)' }, finish_reason: 'stop' }],
        usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
      })
      expect(completion._request_id).toMatch(/^req_/)
    })

    it('are streamed', async () => {
      const stream = await client.chat.completions.create({ ...ask('Hello you'), stream: true })
      let text = ''
      for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      expect(text).toBe('Hello you (0 images)')
    })

    it('accept images', async () => {
      const { choices } = await client.chat.completions.create(
        ask([
          { type: 'text', text: 'Look' },
          { type: 'image_url', image_url: { url: PNG } },
        ]),
      )
      expect(choices[0]?.message.content).toBe('Look (1 images)')
      expect(serving.engine.lastChat().body.toString()).toContain(PNG)
    })

    it.each([false, true])('call tools in two turns, two of them at the same time (streamed: %s)', async (streamed) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'The weather?' }]
      for (let turn = 0; turn < 5; turn++) {
        const request = { model: MODEL, messages, tools: CHAT_TOOLS }
        const { choices } = streamed
          ? await client.chat.completions.stream(request).finalChatCompletion()
          : await client.chat.completions.create(request)
        const message = choices[0]?.message
        if (!message?.tool_calls?.length) {
          expect([turn, message?.content]).toEqual([2, ALL_WEATHER])
          return
        }
        messages.push(message)
        for (const call of message.tool_calls) {
          if (call.type !== 'function') throw new Error('Only functions were offered.')
          messages.push({ role: 'tool', tool_call_id: call.id, content: weatherOf(call.function.arguments) })
        }
      }
      throw new Error('The loop did not end.')
    })
  })

  describe.each(['/v1', '/codex/v1'])('responses on %s', (group) => {
    const responses = () => clientOf(TOKEN, group).responses

    it('are created', async () => {
      const response = await responses().create({ model: MODEL, input: 'Hello', instructions: 'Be brief.' })
      expect(response.output_text).toBe('Hello (0 images)')
      expect(response).toMatchObject({ model: MODEL, status: 'completed', usage: { total_tokens: 15 } })
    })

    it('are streamed', async () => {
      const deltas: string[] = []
      const response = await responses()
        .stream({ model: MODEL, input: 'Hello you' })
        .on('response.output_text.delta', ({ delta }) => void deltas.push(delta))
        .finalResponse()
      expect([deltas.join(''), response.output_text]).toEqual(['Hello you (0 images)', 'Hello you (0 images)'])
    })

    it('accept images', async () => {
      const response = await responses().create({
        model: MODEL,
        input: [
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'Look' },
              { type: 'input_image', image_url: PNG, detail: 'auto' },
            ],
          },
        ],
      })
      expect(response.output_text).toBe('Look (1 images)')
    })

    it.each([false, true])('complete the tool loop of an agent (streamed: %s)', async (streamed) => {
      const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'The weather?' }]
      for (let turn = 0; turn < 5; turn++) {
        const request = { model: MODEL, input, tools: TOOLS, parallel_tool_calls: true, store: false }
        const response = streamed
          ? await responses().stream(request).finalResponse()
          : await responses().create(request)
        const output: OpenAI.Responses.ResponseOutputItem[] = response.output
        const calls = output.filter((item) => item.type === 'function_call')
        if (calls.length === 0) {
          expect([turn, response.output_text]).toEqual([2, ALL_WEATHER])
          return
        }
        expect(calls.length).toBe(turn === 0 ? 2 : 1)
        // Every output item is valid input, but the types of the package do not say so.
        input.push(...(output as OpenAI.Responses.ResponseInput))
        for (const { call_id, arguments: args } of calls) {
          input.push({ type: 'function_call_output', call_id, output: weatherOf(args) })
        }
      }
      throw new Error('The loop did not end.')
    })

    it('have their tokens counted when the engine can', async () => {
      const count = () => responses().inputTokens.count({ model: MODEL, input: 'Hello' })
      await expect(count()).rejects.toMatchObject({ status: 501, code: 'not_supported' })
      const answer = { object: 'response.input_tokens', input_tokens: 7 }
      serving.engine.routes = { '/v1/responses/input_tokens': answersJson(answer) }
      expect(await count()).toEqual(answer)
    })

    it('are rejected with the name of a parameter that a local engine does not support', async () => {
      const request = responses().create({ model: MODEL, input: 'Hello', previous_response_id: 'resp_1' })
      await expect(request).rejects.toThrow(OpenAI.BadRequestError)
      await expect(request).rejects.toThrow(/previous_response_id/)
    })
  })

  describe('errors', () => {
    const call = (caller: OpenAI = client, model = MODEL) =>
      caller.chat.completions.create({ model, messages: [{ role: 'user', content: 'Hello' }] })

    it('are AuthenticationError for an unknown credential', async () => {
      await expect(call(clientOf('wrong'))).rejects.toThrow(OpenAI.AuthenticationError)
    })

    it('are PermissionDeniedError for a model that the team may not call', async () => {
      await expect(call(client, 'svc/draft')).rejects.toThrow(OpenAI.PermissionDeniedError)
      await expect(call(client, 'svc/draft')).rejects.toMatchObject({
        code: 'model_not_allowed',
        type: 'permission_error',
        requestID: expect.stringMatching(/^req_/) as string,
      })
    })

    it('are BadRequestError for an invalid body', async () => {
      await expect(call(client, 7 as never)).rejects.toThrow(OpenAI.BadRequestError)
    })

    it('name the route that a client with a wrong base URL means', async () => {
      const wrong = client.withOptions({ baseURL: serving.gateway.url })
      await expect(call(wrong)).rejects.toThrow('404 No such route. Did you mean /v1/chat/completions?')
    })

    it('with x-should-retry: false are not retried', async () => {
      serving.engine.chat = answersJson({ error: { message: 'no such model' } }, { status: 404 })
      const before = serving.engine.calls.filter(({ url }) => url.endsWith('/chat/completions')).length
      await expect(call()).rejects.toThrow(OpenAI.InternalServerError)
      expect(serving.engine.calls.filter(({ url }) => url.endsWith('/chat/completions')).length - before).toBe(1)
    })

    it('of the engine have its status and message', async () => {
      serving.engine.chat = answersJson({ error: { message: 'too many' } }, { status: 429 })
      const withoutRetries = client.withOptions({ maxRetries: 0 })
      await expect(call(withoutRetries)).rejects.toThrow(OpenAI.RateLimitError)
      await expect(withoutRetries.responses.create({ model: MODEL, input: 'x' })).rejects.toThrow(/too many/)
    })

    it('in the middle of a stream reject the iteration', async () => {
      serving.engine.chat = ({ res }) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' })
        res.write('data: {"id":"c","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n', () => res.destroy())
      }
      const stream = await client.chat.completions.create({ model: MODEL, messages: [], stream: true })
      const reading = (async () => {
        for await (const _chunk of stream);
      })()
      await expect(reading).rejects.toThrow()
    })
  })

  it('aborts the call to the engine when the client aborts', async () => {
    serving.engine.chat = neverAnswers
    const leaving = new AbortController()
    const request = client.responses.create({ model: MODEL, input: 'x', stream: true }, { signal: leaving.signal })
    await expect.poll(() => serving.engine.openCalls()).toBe(1)
    leaving.abort()
    await expect(request).rejects.toThrow(OpenAI.APIUserAbortError)
    await expect.poll(() => serving.engine.openCalls()).toBe(0)
  })

  it('lists the models', async () => {
    for (const group of ['/v1', '/codex/v1']) {
      const ids: string[] = []
      for await (const { id } of clientOf(TOKEN, group).models.list()) ids.push(id)
      expect(ids).toEqual(['svc/fast', 'svc/draft'])
    }
  })

  it('creates embeddings and completions when the engine can', async () => {
    serving.engine.routes = {
      '/v1/embeddings': answersJson({ object: 'list', data: [{ index: 0, embedding: [0.5, 1] }], model: 'qwen3:8b' }),
      '/v1/completions': answersJson({ object: 'text_completion', choices: [{ index: 0, text: 'x' }], model: 'q' }),
    }
    const embeddings = await client.embeddings.create({ model: MODEL, input: 'x', encoding_format: 'float' })
    expect([embeddings.model, embeddings.data[0]?.embedding]).toEqual([MODEL, [0.5, 1]])
    const completion = await client.completions.create({ model: MODEL, prompt: 'x' })
    expect([completion.model, completion.choices[0]?.text]).toEqual([MODEL, 'x'])
  })
})
