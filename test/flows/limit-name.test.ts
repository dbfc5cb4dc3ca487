/** Clients have one name for the token limit, and some models refuse it. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { Script, TestUpstream } from '../support/upstream.ts'

let vendor: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  vendor = await startUpstream()
  const backend = { name: 'vendor', dialects: ['chat' as const], url: vendor.url.href, basePath: '/v1' }
  const serve = [serveEntry('vendor', 'large')]
  gateway = await startGateway({
    backends: [{ ...backend, credential: null }],
    team: {
      models: [
        servedModel('any/plain', { serve }),
        servedModel('any/new-name', { caps: { limitName: 'max_completion_tokens' }, serve }),
        servedModel('any/old-name', { caps: { limitName: 'max_tokens' }, serve }),
      ],
    },
  })
})
afterAll(async () => {
  for (const one of [gateway, vendor]) await one[Symbol.asyncDispose]()
})

const OPENAI = {
  error: {
    message:
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    type: 'invalid_request_error',
    param: 'max_tokens',
    code: 'unsupported_parameter',
  },
}
const MISTRAL = {
  object: 'error',
  message: {
    detail: [
      { type: 'extra_forbidden', loc: ['body', 'max_completion_tokens'], msg: 'Extra inputs are not permitted' },
    ],
  },
}
const hello = saysHello('chat')
const refuses = (name: string, status: number, error: object): Script => {
  return (call) => (name in bodyOf(call) ? answersJson(error, { status })(call) : hello(call))
}
beforeEach(() => vendor.restart(refuses('max_tokens', 400, OPENAI)))

const post = (model: string, more: object) => gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', model), ...more })
const sentLimits = () =>
  vendor.calls.map((call) => Object.entries(bodyOf(call)).filter(([name]) => name.startsWith('max_')))

it('sends a request again with the new name when a model refuses the old one', async () => {
  const response = await post('any/plain', { max_tokens: 64, stream: true })
  expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=400,vendor=200'])
  expect(await response.text()).toContain('Hello')
  expect(sentLimits()).toEqual([[['max_tokens', 64]], [['max_completion_tokens', 64]]])
})

it('sends a request again with the old name when a server knows only that', async () => {
  vendor.restart(refuses('max_completion_tokens', 422, MISTRAL))
  const response = await post('any/plain', { max_completion_tokens: 64 })
  expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=422,vendor=200'])
  expect(sentLimits()).toEqual([[['max_completion_tokens', 64]], [['max_tokens', 64]]])
})

it('sends a translated request again, too', async () => {
  const response = await gateway.post(GATEWAY_PATHS.messages, { ...greeting('messages', 'any/plain'), max_tokens: 64 })
  expect([response.status, response.headers.get('x-svc-attempts')]).toEqual([200, 'vendor=400,vendor=200'])
  expect(sentLimits()).toEqual([[['max_tokens', 64]], [['max_completion_tokens', 64]]])
})

it.each([
  ['any/new-name', { max_tokens: 64 }, [['max_completion_tokens', 64]]],
  ['any/new-name', { max_completion_tokens: 64 }, [['max_completion_tokens', 64]]],
  ['any/old-name', { max_completion_tokens: 64 }, [['max_tokens', 64]]],
  ['any/old-name', {}, []],
])('sends the name that the directory gives at once: %s %j', async (model, limits, expected) => {
  vendor.restart(hello)
  expect((await post(model, limits)).status).toBe(200)
  expect(sentLimits()).toEqual([expected])
})

it('passes the refusal on where both names were sent, or the limit was not refused', async () => {
  expect((await post('any/plain', { max_tokens: 64, max_completion_tokens: 32 })).status).toBe(400)
  expect(vendor.calls).toHaveLength(1)

  const other = {
    error: { message: 'max_tokens is too large: 64.', type: 'invalid_request_error', param: 'max_tokens' },
  }
  vendor.restart(answersJson(other, { status: 400 }))
  const response = await post('any/plain', { max_tokens: 64 })
  expect([response.status, await response.json()]).toEqual([400, other])
  expect(vendor.calls).toHaveLength(1)
})
