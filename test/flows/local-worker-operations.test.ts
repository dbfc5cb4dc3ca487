import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { TEAM } from '../support/local-worker.ts'
import { outcomeOf } from '../support/requests.ts'
import { answersJson, streams } from '../support/upstream.ts'
import type { Script } from '../support/upstream.ts'

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
    {
      path: '/v1/responses/input_tokens',
      goesTo: '/v1/responses/input_tokens',
      body: { input: 'x' },
      answer: { object: 'response.input_tokens', input_tokens: 3 },
    },
  ]

  it.each(OPERATIONS)(
    'is asked with the backend’s model name and answers with the service’s: $path',
    async (operation) => {
      const { path, goesTo, body, answer } = operation
      engine.routes = { [goesTo]: answersJson(answer) }
      const res = await gateway.post(path, { ...body, model: 'svc/fast', max_tokens: 100_000 })
      expect([res.status, await res.json()]).toEqual([
        200,
        'model' in answer ? { ...answer, model: 'svc/fast' } : answer,
      ])
      expect(JSON.parse(engine.last().body.toString())).toEqual({ ...body, model: 'qwen3:8b', max_tokens: 4096 })
    },
  )

  it.each(OPERATIONS)(
    'is not supported (501) when the answer has another shape, whatever its status: $path',
    async (operation) => {
      const { path, goesTo, body } = operation
      const otherAnswers: Script[] = [
        answersJson({ error: `Unexpected endpoint or method. (POST ${goesTo})` }),
        answersJson({ error: { message: 'File Not Found' } }, { status: 404 }),
        ({ res }) => void res.writeHead(404, { 'content-type': 'text/plain' }).end('404 page not found'),
        answersJson({ error: { code: 501, message: 'This server does not support embeddings.' } }, { status: 501 }),
      ]
      for (const script of otherAnswers) {
        engine.routes = { [goesTo]: script }
        const res = await gateway.post(path, { ...body, model: 'svc/fast' })
        expect(await outcomeOf(res)).toBe('501 not_supported')
      }
    },
  )

  it('is not available (503) when the engine lacks the model', async () => {
    await using empty = await startEngine([])
    await using gateway = await startGateway({ team: TEAM, engine: empty.url })
    await gateway.get('/v1/workers')
    const res = await gateway.post('/v1/embeddings', { input: 'x' })
    expect(await outcomeOf(res)).toBe('503 model_unavailable')
  })

  it('streams a completion with the name of the service model', async () => {
    const choices = [{ index: 0, text: 'x', finish_reason: 'stop' }]
    const piece = `data: ${JSON.stringify({ ...COMPLETION, choices })}\n\n`
    engine.routes = { '/v1/completions': streams([piece, 'data: [DONE]\n\n']) }
    const res = await gateway.post('/v1/completions', { prompt: 'x', stream: true })
    expect(await res.text()).toBe(`${piece.replace('qwen3:8b', 'svc/fast')}data: [DONE]\n\n`)
  })

  it('streams the first text of a completion while the engine writes the next', async () => {
    const choices = [{ index: 0, text: 'x', finish_reason: null }]
    const piece = `data: ${JSON.stringify({ ...COMPLETION, choices })}\n\n`
    engine.routes = { '/v1/completions': streams([piece], { end: 'stalls' }) }
    const leaving = new AbortController()
    const init = { signal: leaving.signal }
    const res = await gateway.post('/v1/completions', { prompt: 'x', stream: true }, init)
    const first = await res.body?.getReader().read()
    expect(Buffer.from(first?.value ?? []).toString()).toBe(piece.replace('qwen3:8b', 'svc/fast'))
    leaving.abort()
  })
})
