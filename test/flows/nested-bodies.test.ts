import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MAX_JSON_DEPTH } from '../../src/kernel/json.ts'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { outcomeOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { startService } from '../support/service.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

/** This many objects inside each other, as text: writing the value could overflow the stack. */
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
const nestedLists = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
const TEXT = '[{"role":"user","content":"hi"}]'
const ARGUMENTS = JSON.stringify(nested(5000))

/** Places in a request where a client may write any JSON. */
const PLACES: readonly (readonly [string, string, (deep: string) => string])[] = [
  ['/v1/chat/completions', 'a tool’s schema', (deep) => `"messages":${TEXT},"tools":[${chatTool(deep)}]`],
  ['/v1/chat/completions', 'the metadata', (deep) => `"messages":${TEXT},"metadata":${deep}`],
  ['/v1/chat/completions', 'an unknown member', (deep) => `"messages":${TEXT},"x":${deep}`],
  ['/v1/completions', 'an unknown member', (deep) => `"prompt":"hi","x":${deep}`],
  ['/v1/embeddings', 'an unknown member', (deep) => `"input":"hi","x":${deep}`],
  ['/v1/responses', 'a tool’s schema', (deep) => `"input":"hi","tools":[${responsesTool(deep)}]`],
  ['/v1/responses/input_tokens', 'a tool’s schema', (deep) => `"input":"hi","tools":[${responsesTool(deep)}]`],
  ['/codex/v1/responses', 'a tool’s schema', (deep) => `"input":[],"tools":[${responsesTool(deep)}]`],
  ['/codex/v1/responses/compact', 'an unknown member', (deep) => `"input":[],"x":${deep}`],
  ['/vendorb/v1/messages', 'a tool’s schema', (deep) => `"max_tokens":9,"messages":${TEXT},"tools":[${tool(deep)}]`],
  ['/vendorb/v1/messages', 'a tool’s input', (deep) => `"max_tokens":9,"messages":[${toolUse(deep)}]`],
  ['/vendorb/v1/messages/count_tokens', 'a tool’s schema', (deep) => `"messages":${TEXT},"tools":[${tool(deep)}]`],
]

function chatTool(schema: string): string {
  return `{"type":"function","function":{"name":"f","parameters":{"type":"object","x":${schema}}}}`
}

function responsesTool(schema: string): string {
  return `{"type":"function","name":"f","parameters":{"type":"object","x":${schema}}}`
}

function tool(schema: string): string {
  return `{"name":"f","input_schema":{"type":"object","x":${schema}}}`
}

function toolUse(input: string): string {
  return `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"x":${input}}}]}`
}

let upstream: TestUpstream
let engine: TestEngine
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream(answersJson({}))
  engine = await startEngine()
  const { url } = upstream
  const models = [servedModel('v/large'), servedModel('svc/local', { backendModel: 'qwen3:8b' })]
  gateway = await startGateway({ team: { models }, vendora: url, vendorb: url, vendorc: url, engine: engine.url })
})
afterAll(async () => {
  for (const started of [gateway, upstream, engine]) await started[Symbol.asyncDispose]()
})

describe.each(['v/large', 'svc/local'])('a call of %s', (model) => {
  it.each(PLACES)('of %s is refused with 400 when %s is nested too deep', async (path, _place, bodyOf) => {
    const seen = upstream.calls.length
    for (const deep of [nested(MAX_JSON_DEPTH), nested(5000), nestedLists(100_000)]) {
      expect(await outcomeOf(await gateway.post(path, `{"model":"${model}",${bodyOf(deep)}}`))).toBe(
        '400 invalid_request',
      )
    }
    expect(upstream.calls.length).toBe(seen)
  })

  it('never fails by its depth, in any place', async () => {
    const depths = fc.oneof(fc.nat(MAX_JSON_DEPTH + 10), fc.nat(20_000))
    const deep = fc.tuple(depths, fc.constantFrom(nested, nestedLists)).map(([levels, write]) => write(levels))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...PLACES), deep, async ([path, , bodyOf], value) => {
        const { status } = await gateway.post(path, `{"model":"${model}",${bodyOf(value)}}`)
        expect(status).not.toBe(500)
      }),
      { numRuns: 60 },
    )
  })
})

it.each([
  [
    '/v1/responses',
    `"input":[{"type":"function_call","call_id":"c","name":"f","arguments":${ARGUMENTS}},` +
      `{"type":"function_call_output","call_id":"c","output":"x"}]`,
  ],
  [
    '/v1/chat/completions',
    `"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function",` +
      `"function":{"name":"f","arguments":${ARGUMENTS}}}]},{"role":"tool","tool_call_id":"c","content":"x"}]`,
  ],
])('a call of %s never fails by the depth of a tool’s arguments, which are text', async (path, body) => {
  const { status } = await gateway.post(path, `{"model":"svc/local",${body}}`)
  expect(status).not.toBe(500)
})

it('a body with too many values is refused with 400, before it blocks the gateway', async () => {
  const seen = upstream.calls.length
  const body = `{"model":"v/large","messages":${TEXT},"metadata":[${'{},'.repeat(5_000_000)}0]}`
  const response = await gateway.post('/v1/chat/completions', body)
  expect(await response.json()).toMatchObject({
    error: { code: 'invalid_request', message: 'The body has more than 500,000 names and values. Send fewer.' },
  })
  expect([response.status, upstream.calls.length]).toEqual([400, seen])
  // Parsing it would take more than two seconds of CPU time.
  const seconds = await cpuSecondsOf(async () => (await gateway.post('/v1/chat/completions', body)).text())
  expect(seconds).toBeLessThan(1.5)
})

it('an engine’s answer that is nested too deep is a failure of the engine', async () => {
  const answer = `{"id":"c","object":"chat.completion","choices":[{"message":{"content":"a","x":${nested(5000)}}}]}`
  engine.chat = ({ res }) => void res.writeHead(200, { 'content-type': 'application/json' }).end(answer)
  const body = { model: 'svc/local', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }
  expect((await gateway.post('/vendorb/v1/messages', body)).status).toBe(502)
  engine.chat = null
})

it('a body of the control plane that is nested too deep is refused with 400', async () => {
  await using service = await startService()
  const body = `{"email":"ada@example.com","deviceId":"d","deviceName":${nested(2500)}}`
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${service.origin}/v1/auth/device/start`, { method: 'POST', headers, body })
  expect(await outcomeOf(response)).toBe('400 invalid_request')
})
