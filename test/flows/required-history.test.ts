/** A chat client at a chat backend whose model requires the reasoning of earlier turns. */
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { bodyOf, GATEWAY_PATHS, greeting, saysHello } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

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
        servedModel('any/strict', { caps: { reasoningReplay: 'required' }, serve }),
        servedModel('any/other', { serve }),
      ],
    },
  })
})
afterAll(async () => {
  for (const one of [gateway, vendor]) await one[Symbol.asyncDispose]()
})
beforeEach(() => vendor.restart(saysHello('chat')))

const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"n":12345678901234567890}' } }
const turn = { role: 'assistant', content: null, tool_calls: [call] }
const result = { role: 'tool', tool_call_id: 'call_1', content: 'sun' }
const SEALED = { type: 'reasoning.encrypted', format: 'svc1', data: 'svc1.e30.data.mac' }

/** The turn of the assistant as the backend gets it. */
async function sentTurn(model: string, message: object, more: object = {}) {
  const messages = [{ role: 'user', content: 'Hi' }, message, result]
  const response = await gateway.post(GATEWAY_PATHS.chat, { ...greeting('chat', model), messages, ...more })
  expect(response.status).toBe(200)
  return (bodyOf(vendor.last()).messages as unknown[])[1]
}

it('gets an empty reasoning for a turn with calls that has none', async () => {
  expect(await sentTurn('any/strict', turn)).toEqual({ ...turn, reasoning_content: '' })
  expect(vendor.last().body.toString()).toContain('12345678901234567890')
})

it('gets an empty reasoning in place of that of another backend, which it cannot read', async () => {
  const foreign = { ...turn, reasoning_content: 'Let me see.', reasoning_details: [SEALED] }
  expect(await sentTurn('any/strict', foreign)).toEqual({ ...turn, reasoning_content: '' })
})

it.each([
  ['its own reasoning', 'any/strict', { ...turn, reasoning_content: 'Let me see.' }],
  ['a turn without calls', 'any/strict', { role: 'assistant', content: 'Hello' }],
  ['a turn with calls, for a model that requires nothing', 'any/other', turn],
])('gets %s as it is', async (_name, model, message) => {
  expect(await sentTurn(model, message)).toEqual(message)
})
