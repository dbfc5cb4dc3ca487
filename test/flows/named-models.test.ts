import { afterAll, beforeAll, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { outcomeOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/responses/compact',
  '/codex/v1/responses',
  '/vendorb/v1/messages',
  '/vendorb/v1/messages/count_tokens',
]

const ALIASED = servedModel('v/opus', { upstreamModel: 'opus-2026', aliases: ['claude-opus-4-7', 'claude-opus-*'] })

const BODY =
  '"model":"v/large","max_tokens":9,"prompt":"hi","input":[{"type":"message","role":"user","content":"hi"}],' +
  '"messages":[{"role":"user","content":"hi"}]'

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream(answersJson({}))
  const { url } = upstream
  const team = { models: [servedModel('v/large'), servedModel('v/small'), ALIASED] }
  gateway = await startGateway({ team, vendora: url, vendorb: url, vendorc: url })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

it.each(PATHS)('POST %s forwards no other model than those that the team may call', async (path) => {
  const input = path === '/v1/embeddings' ? BODY.replace(/"input":\[.*?\],/, '"input":"hi",') : BODY
  const outcome = async (more: string) => outcomeOf(await gateway.post(path, `{${input},${more}}`))
  expect(await outcome('"models":["v/secret"]')).toBe('403 model_not_allowed')
  expect(await outcome('"fallbacks":[{"model":"v/secret"}]')).toBe('403 model_not_allowed')
  expect(await outcome('"route":"fallback"')).toBe('400 invalid_request')
  // Two readers could take different values.
  expect(await outcome('"models":["v/secret"],"models":null')).toBe('400 invalid_request')
  expect(await outcome('"Models":["v/secret"]')).toBe('400 invalid_request')
  expect(upstream.calls).toEqual([])
  expect(await outcome('"models":["v/small"]')).toBe('200')
  expect(upstream.last().body.toString()).toContain('"models":["v/small"]')
  upstream.restart(answersJson({}))
})

it('POST /v1/chat/completions forwards the options of Gemini in extra_body, and no others', async () => {
  const outcome = async (extra: string) =>
    outcomeOf(await gateway.post('/v1/chat/completions', `{${BODY},"extra_body":${extra}}`))
  for (const extra of [
    '{"model":"v/secret"}',
    '{"google":{},"model":"v/secret"}',
    '{"Google":{}}',
    '["google"]',
    '1',
  ]) {
    expect([extra, await outcome(extra)]).toEqual([extra, '400 invalid_request'])
  }
  expect(upstream.calls).toEqual([])
  const options = '{"google":{"thinking_config":{"thinking_budget":0}}}'
  expect(await outcome(options)).toBe('200')
  expect(upstream.last().body.toString()).toContain(`"extra_body":${options}`)
  upstream.restart(answersJson({}))
})

it.each<[path: string, more: string]>([
  ['/v1/responses', '"input":[{"type":"additional_tools","role":"developer","tools":[TOOL]}]'],
  [
    '/codex/v1/responses',
    '"input":[{"type":"tool_search_output","tools":[{"type":"namespace","name":"n","tools":[TOOL]}]}]',
  ],
  [
    '/vendorb/v1/messages',
    '"max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"system","content":[{"type":"tool_addition",' +
      '"tool":{"type":"tool_definition","definition":TOOL}}]}]',
  ],
])(
  'POST %s forwards no tool that its conversation adds with a model that the team may not call',
  async (path, more) => {
    const outcome = async (model: string) => {
      const tool = JSON.stringify({ type: 'image_generation', model })
      return outcomeOf(await gateway.post(path, `{"model":"v/large",${more.replace('TOOL', tool)}}`))
    }
    expect(await outcome('v/secret')).toBe('403 model_not_allowed')
    expect(upstream.calls).toEqual([])
    expect(await outcome('v/small')).toBe('200')
    upstream.restart(answersJson({}))
  },
)

it.each(PATHS)(
  "POST %s with an alias sends the model's name at the backend, and changes nothing else",
  async (path) => {
    const body = (name: string) => BODY.replace('v/large', name)
    for (const alias of ['claude-opus-4-7', 'claude-opus-5']) {
      expect(await outcomeOf(await gateway.post(path, `{${body(alias)}}`))).toBe('200')
      expect(upstream.last().body.toString()).toBe(`{${body('opus-2026')}}`)
    }
    expect(await outcomeOf(await gateway.post(path, `{${body('claude-haiku-4')}}`))).toBe('403 model_not_allowed')
    // Records have the model that served, whatever name a caller used for it.
    expect(new Set(gateway.events.slice(-2).map(({ call }) => call.model))).toEqual(new Set(['v/opus']))
  },
)

it.each(['/v1/chat/completions', '/vendorb/v1/messages'])(
  'POST %s on the local worker answers with the alias that the caller asked for',
  async (path) => {
    await using engine = await startEngine()
    const models = [servedModel('svc/fast', { backendModel: 'qwen3:8b', aliases: ['claude-*'] })]
    await using local = await startGateway({ team: { models }, engine: engine.url })
    const response = await local.post(path, `{${BODY.replace('v/large', 'claude-opus-4-7')}}`)
    expect(await response.json()).toMatchObject({ model: 'claude-opus-4-7' })
    expect(JSON.parse(engine.lastChat().body.toString())).toMatchObject({ model: 'qwen3:8b' })
  },
)
