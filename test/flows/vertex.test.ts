import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'

const MODELS = '/v1/projects/acme/locations/eu/publishers/anthropic/models'

/** Knows the paths of Vertex AI only, and refuses bodies as it does. */
const vertex: Script = (call) => {
  const body = bodyOf(call)
  const method = body.stream === true ? 'streamRawPredict' : 'rawPredict'
  const version = body.anthropic_version
  if (call.url === `${MODELS}/count-tokens:rawPredict` && body.model === 'claude-9@20260101')
    return answersJson({ input_tokens: 7 })(call)
  if (call.url !== `${MODELS}/claude-9@20260101:${method}`)
    return answersJson({ error: { code: 404 } }, { status: 404 })(call)
  if ('model' in body || version !== 'vertex-2023-10-16')
    return answersJson(
      { type: 'error', error: { type: 'invalid_request_error', message: 'model: Extra' } },
      { status: 400 },
    )(call)
  return saysHello('messages')(call)
}

let cloud: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  cloud = await startUpstream(vertex)
  const backend = { name: 'vertex', dialects: ['messages'], url: cloud.url.href, basePath: MODELS } as const
  gateway = await startGateway({
    backends: [{ ...backend, credential: { env: 'TOKEN', file: null, as: 'bearer' } }],
    team: { models: [servedModel('team/claude', { serve: [serveEntry('vertex', 'claude-9@20260101')] })] },
  })
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await cloud[Symbol.asyncDispose]()
})

describe.each(['messages', 'chat', 'responses'] as const)(
  'a call in the %s dialect to Claude at Vertex AI',
  (dialect) => {
    it.each([false, true])('is answered (stream: %s)', async (stream) => {
      const answer = await gateway.post(GATEWAY_PATHS[dialect], greeting(dialect, 'team/claude', stream))
      expect([answer.status, answer.headers.get('x-svc-served-by')]).toEqual([200, 'vertex'])
      expect(answer.headers.get('content-type')).toContain(stream ? 'text/event-stream' : 'application/json')
      expect(await answer.text()).toContain('Hello')
      expect(cloud.last().headers.authorization).toBe('Bearer secret-of-TOKEN')
    })
  },
)

it('a count of tokens at Vertex AI comes from there', async () => {
  const body = { model: 'team/claude', messages: [{ role: 'user', content: 'Hi' }] }
  const counted = await gateway.post('/vendorb/v1/messages/count_tokens?beta=true', body)
  expect(await counted.json()).toEqual({ input_tokens: 7 })
  const translated = await gateway.post('/v1/responses/input_tokens', { model: 'team/claude', input: 'Hi' })
  expect(translated.headers.get('x-svc-served-by')).toBe('vertex')
})

it('an error in the form of Google becomes an error of the caller’s dialect in a translated call', async () => {
  const error = { code: 429, message: 'Quota exceeded for Claude.', status: 'RESOURCE_EXHAUSTED' }
  cloud.restart(answersJson([{ error }], { status: 429 }))
  const answer = await gateway.post(GATEWAY_PATHS.chat, greeting('chat', 'team/claude'))
  expect(answer.status).toBe(429)
  expect(await answer.json()).toMatchObject({ error: { message: 'Quota exceeded for Claude.' } })
})
