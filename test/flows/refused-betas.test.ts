/** Backends of the messages dialect that have less than their vendor's newest API. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { SeenCall, TestUpstream } from '../support/upstream.ts'

const MODELS = ['bedrock', 'litellm', 'haiku', 'old', 'copilot', 'wrapped']

let vendor: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  vendor = await startUpstream()
  gateway = await startGateway({
    backends: [{ name: 'vendor', dialects: ['messages'], url: vendor.url.href, basePath: '/v1', credential: null }],
    team: {
      models: [
        ...MODELS.map((name) => servedModel(`any/${name}`, { serve: [serveEntry('vendor', name)] })),
        servedModel('any/stable', { caps: { betas: false }, serve: [serveEntry('vendor', 'stable')] }),
      ],
    },
  })
})
afterAll(async () => {
  for (const one of [gateway, vendor]) await one[Symbol.asyncDispose]()
})

const description = 'A title of a few words. '.repeat(40)
const format = { type: 'json_schema', schema: { type: 'object', properties: { title: { description } } } }

function refuses(isRefused: (call: SeenCall) => boolean, message: string): void {
  const error = { type: 'error', error: { type: 'invalid_request_error', message } }
  vendor.restart((call) => (isRefused(call) ? answersJson(error, { status: 400 }) : saysHello('messages'))(call))
}

const post = (model: string, more: object, headers = {}) =>
  gateway.post(GATEWAY_PATHS.messages, { ...greeting('messages', model), ...more }, { headers })

const attemptsOf = ({ status, headers }: Response) => [status, headers.get('x-svc-attempts')]

const OF_CLAUDE = { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } }
const BETAS = { 'anthropic-beta': 'interleaved-thinking-2025-05-14,context-management-2025-06-27' }

it.each([
  ['bedrock', 'invalid beta flag'],
  ['litellm', '{"message":"The model returned the following errors: invalid beta flag"}. Received Model Group=x'],
])('get a call without the betas that they refuse, for this call only: %s', async (name, message) => {
  refuses(({ headers }) => /context/.test(String(headers['anthropic-beta'])), message)
  expect(attemptsOf(await post(`any/${name}`, OF_CLAUDE, BETAS))).toEqual([200, 'vendor=400,vendor=200'])
  expect(vendor.last().headers).not.toHaveProperty('anthropic-beta')
  expect(bodyOf(vendor.last())).not.toHaveProperty('context_management')

  const accepted = { 'anthropic-beta': 'interleaved-thinking-2025-05-14' }
  expect(attemptsOf(await post(`any/${name}`, {}, accepted))).toEqual([200, null])
  expect(vendor.last().headers).toMatchObject(accepted)
})

it('answer the call with their error when it names no betas', async () => {
  refuses(() => true, 'invalid beta flag')
  expect((await post('any/bedrock', {})).status).toBe(400)
  expect(vendor.calls).toHaveLength(1)
})

it('get no betas where the directory says so', async () => {
  refuses(({ headers }) => 'anthropic-beta' in headers, 'invalid beta flag')
  expect(attemptsOf(await post('any/stable', OF_CLAUDE, BETAS))).toEqual([200, null])
  expect(bodyOf(vendor.last())).not.toHaveProperty('context_management')
})

it.each([
  ['haiku', 'This model does not support the effort parameter.'],
  ['old', 'output_config.effort: Extra inputs are not permitted'],
  ['copilot', 'output_config.effort "high" was provided, but model claude-haiku-4.5 does not support reasoning effort'],
  [
    'wrapped',
    'litellm.BadRequestError: BedrockException - {"message": "The model returned the following errors: ' +
      'output_config.effort: Extra inputs are not permitted"}',
  ],
])('are told no effort after they have refused it, and all else: %s', async (name, message) => {
  refuses(({ body }) => body.includes('"effort"'), message)
  const output_config = { effort: 'high', format }
  expect(attemptsOf(await post(`any/${name}`, { output_config }))).toEqual([200, 'vendor=400,vendor=200'])
  expect(attemptsOf(await post(`any/${name}`, { output_config }))).toEqual([200, null])
  expect(bodyOf(vendor.last())).toMatchObject({ output_config: { format } })
  await post(`any/${name}`, { output_config: { effort: 'low' } })
  expect(bodyOf(vendor.last())).not.toHaveProperty('output_config')
})
