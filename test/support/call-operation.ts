import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SvcClient } from '../../generated/sdk/index.js'
import { events } from '../../generated/sdk/index.js'
import { checkAnswer } from './contract/contract-check.ts'
import { startEngine } from './engine.ts'
import { startGateway } from './gateway.ts'
import { freePort } from './loopback.ts'
import { messageOf, outcomeOf } from './requests.ts'
import { servedModel } from './served-models.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'
import { useUpLimit } from './spending.ts'
import { answersJson, neverAnswers, startUpstream, streams } from './upstream.ts'
import type { TestUpstream } from './upstream.ts'

type CallOperation = {
  readonly operationId: string
  readonly path:
    | '/v1/chat/completions'
    | '/v1/completions'
    | '/v1/embeddings'
    | '/v1/responses'
    | '/codex/v1/responses'
    | '/v1/responses/compact'
    | '/codex/v1/responses/compact'
    | '/v1/responses/input_tokens'
    | '/codex/v1/responses/input_tokens'
    | '/vendorb/v1/messages'
    | '/vendorb/v1/messages/count_tokens'
    | '/v1/messages'
    | '/v1/messages/count_tokens'
  readonly servedBy: string
  /** A valid body without a model. */
  readonly body: object
  /** A whole answer in this dialect that matches the contract. */
  readonly answer: object
  /** The data of the events of a stream in this dialect; absent for an operation without streams. */
  readonly events?: readonly object[]
  /** The local worker may not support it. */
  readonly mayBeUnsupported?: boolean
}

const DIRECTORY = `
organizations:
  - name: acme
    teams:
      - name: core
        defaultModel: vendora/large
        models: [vendora/large, vendora/priced, svc/local, svc/draft]
        members: [{ email: ada@example.com }]
models:
  - { id: vendora/large, displayName: Large, owner: vendora }
  - { id: vendora/priced, displayName: Priced, owner: vendora, price: { input: 1, output: 10 } }
  - { id: svc/local, displayName: Local, owner: svc, backendModel: 'qwen3:8b' }
  - { id: svc/draft, displayName: Draft, owner: svc, certified: false }
  - { id: svc/others, displayName: Others, owner: svc }
`

/** The tests of a model call: one for each documented status, through the generated SDK against the whole service. */
export function describeCallOperation({
  operationId,
  path,
  servedBy,
  body,
  answer,
  events: data,
  mayBeUnsupported = false,
}: CallOperation): void {
  describe(operationId, () => {
    let upstream: TestUpstream
    let service: TestService
    let client: SvcClient
    let accessToken: string

    beforeAll(async () => {
      upstream = await startUpstream()
      service = await startService({
        directory: DIRECTORY,
        env: {
          [`SVC_${servedBy.toUpperCase()}_UPSTREAM_URL`]: upstream.url.href,
          SVC_UPSTREAM_BEARER_TOKEN: 'upstream-token',
          SVC_UPSTREAM_IDLE_TIMEOUT_SECONDS: '1',
          SVC_LOCAL_ENGINE_URL: `http://127.0.0.1:${await freePort()}`,
          SVC_MAX_BODY_BYTES: '4096',
        },
      })
      ;({ accessToken } = await service.signIn('ada@example.com'))
      client = service.clientOf(accessToken)
      await useUpLimit(service)
    })

    beforeEach(() => upstream.restart(answersJson(answer)))

    afterAll(async () => {
      await service[Symbol.asyncDispose]()
      await upstream[Symbol.asyncDispose]()
    })

    // Each operation has its own type of body, so the type of this one cannot be stated here.
    const call = (given: object = {}) => client.POST(path, { body: { ...body, ...given } as never })
    const send = (text: string, headers: Record<string, string> = {}) =>
      service.fetch(path, {
        method: 'POST',
        body: text,
        headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json', ...headers },
      })

    describe('200', () => {
      it("forwards the upstream's answer and names the backend in x-svc-served-by", async () => {
        const { data: received, response } = await call()
        expect(received).toEqual(answer)
        expect(response.headers.get('x-svc-served-by')).toBe(servedBy)
        expect(upstream.last().headers.authorization).toBe('Bearer upstream-token')
        expect(JSON.parse(upstream.last().body.toString())).toEqual({ model: 'vendora/large', ...body })
      })

      if (data)
        it('forwards the events of a stream unchanged', async () => {
          upstream.restart(streams([...data.map((event) => `data: ${JSON.stringify(event)}\n\n`), 'data: [DONE]\n\n']))
          const given = { ...body, stream: true } as never
          const { data: stream, response } = await client.POST(path, { body: given, parseAs: 'stream' })
          expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
          const received: unknown[] = []
          for await (const event of events(stream ?? new ReadableStream())) received.push(event)
          expect(received).toEqual(data)
        })
    })

    describe('400', () => {
      it.each([
        ['a model that is not a string', JSON.stringify({ ...body, model: 7 })],
        [
          data ? 'a stream that is not a boolean' : 'a model that is an array',
          JSON.stringify({ ...body, ...(data ? { stream: 'yes' } : { model: [] }) }),
        ],
        ['an array', '[]'],
        ['invalid JSON', '{"model":'],
        [
          'two members named model',
          `{"model":"vendora/large",${JSON.stringify({ ...body, model: 'svc/draft' }).slice(1)}`,
        ],
      ])('refuses %s', async (_name, text) => {
        expect(await outcomeOf(await send(text))).toBe('400 invalid_request')
        expect(upstream.calls).toEqual([])
      })
    })

    describe('401', () => {
      it.each(['Bearer wrong', 'Basic YTpi', ''])('refuses the credential "%s"', async (authorization) => {
        const response = await send(JSON.stringify(body), { authorization })
        expect(await outcomeOf(response)).toBe('401 unauthorized')
        const problem =
          authorization === 'Bearer wrong' ? / error="invalid_token", error_description="This token / : /^$/
        expect(response.headers.get('www-authenticate')?.replace(/^Bearer/, '')).toMatch(problem)
        expect(response.headers.get('x-should-retry')).toBe('false')
      })
    })

    // Counting tokens is free.
    if (!path.endsWith('_tokens'))
      describe(path.startsWith('/codex') ? '429' : '402', () => {
        it('says which spending limit is used up, and that a repetition is in vain', async () => {
          const response = await send(JSON.stringify({ ...body, model: 'vendora/priced' }))
          const isCodex = path.startsWith('/codex')
          expect(await outcomeOf(response)).toBe(isCodex ? '429 usage_limit_reached' : '402 spending_limit_reached')
          const message = await messageOf(response)
          expect(message).toMatch(
            /^The limit of 1\.00 USD a month for the team @acme\/core is used up: 1\.50 USD are spent\./,
          )
          expect(response.headers.get('x-should-retry')).toBe('false')
          expect(response.headers.get('x-codex-promo-message')).toBe(isCodex ? message.replace(/\.$/, '') : null)
          expect(upstream.calls).toEqual([])
        })
      })

    describe('403', () => {
      it.each(['svc/none', 'svc/others', 'svc/draft'])(
        'refuses %s, and names the models that the team may call',
        async (model) => {
          const { error, response } = await call({ model })
          expect(response.status).toBe(403)
          expect(error).toEqual({
            type: 'error',
            error: {
              type: 'permission_error',
              code: 'model_not_allowed',
              message: `Your team may not call the model "${model}". It may call svc/local, vendora/large, vendora/priced.`,
            },
          })
        },
      )
    })

    describe('413', () => {
      it('refuses a body above the limit', async () => {
        const response = await send(JSON.stringify({ ...body, padding: 'x'.repeat(5000) }))
        expect(await outcomeOf(response)).toBe('413 payload_too_large')
      })
    })

    describe('415', () => {
      it.each([
        ['an unknown content type', { 'content-type': 'text/plain' }],
        ['an unknown encoding', { 'content-encoding': 'compress' }],
      ])('refuses %s', async (_name, headers) => {
        expect(await outcomeOf(await send(JSON.stringify(body), headers))).toBe('415 unsupported_media_type')
      })
    })

    if (mayBeUnsupported)
      describe('501', () => {
        it('refuses an operation that the local worker does not support, without Retry-After', async () => {
          await using engine = await startEngine()
          const model = servedModel('svc/local', { backendModel: 'qwen3:8b' })
          await using gateway = await startGateway({ engine: engine.url, team: { models: [model] } })
          const response = await gateway.post(path, { ...body, model: 'svc/local' })
          await checkAnswer('POST', new URL(path, gateway.url), response)
          expect(await outcomeOf(response)).toBe('501 not_supported')
          expect([response.headers.get('x-should-retry'), response.headers.get('retry-after')]).toEqual(['false', null])
        })
      })

    describe('502', () => {
      it('answers upstream_failed when the upstream closes the connection', async () => {
        upstream.restart(({ socket }) => socket.destroySoon())
        expect(await outcomeOf(await send(JSON.stringify(body)))).toBe('502 upstream_failed')
      })

      it('answers upstream_refused_credential when the upstream refuses the credential of the service', async () => {
        upstream.restart(answersJson({ error: { message: 'Invalid key.' } }, { status: 401 }))
        const response = await send(JSON.stringify(body))
        expect(await outcomeOf(response)).toBe('502 upstream_refused_credential')
        expect(response.headers.get('x-should-retry')).toBe('false')
      })
    })

    describe('503', () => {
      it('answers model_unavailable without Retry-After when no backend serves an allowed model', async () => {
        const response = await send(JSON.stringify({ ...body, model: 'svc/local' }))
        // No worker supports compaction, whatever its state.
        if (path.endsWith('/compact')) return expect(await outcomeOf(response)).toBe('501 not_supported')
        expect(await outcomeOf(response)).toBe('503 model_unavailable')
        expect([response.headers.get('x-should-retry'), response.headers.get('retry-after')]).toEqual(['false', null])
      })
    })

    describe('504', () => {
      it('answers upstream_timeout when the upstream sends nothing', async () => {
        upstream.restart(neverAnswers)
        expect(await outcomeOf(await send(JSON.stringify(body)))).toBe('504 upstream_timeout')
      })
    })

    describe('default', () => {
      it("forwards the upstream's own error unchanged", async () => {
        const error = { error: { type: 'overloaded_error', message: 'Overloaded' } }
        upstream.restart(answersJson(error, { status: 529, headers: { 'retry-after': '9', 'request-id': 'req_up' } }))
        const response = await send(JSON.stringify(body))
        expect([response.status, await response.json()]).toEqual([529, error])
        expect(response.headers.get('retry-after')).toBe('9')
        expect(response.headers.get('request-id')).toBe('req_up')
        expect(upstream.calls.length).toBe(1)
      })

      it.each([400, 402, 403, 404, 413, 415, 422, 429, 500, 501, 502, 503, 504])(
        'has an error of %i in the shape that the contract has for it, whatever the shape at the upstream',
        async (status) => {
          upstream.restart(answersJson({ detail: 'This seed is odd.' }, { status }))
          const response = await send(JSON.stringify(body))
          expect([response.status, await messageOf(response)]).toEqual([status, 'This seed is odd.'])
        },
      )
    })
  })
}
