/** A backend's reasoning in a session that goes on after the backend's credential was renewed, as tokens of an hour. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import { newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { bodyOf } from '../support/dialect-servers.ts'
import { startGateway } from '../support/gateway.ts'
import { serveEntry, servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
const CALL = {
  type: 'function_call',
  id: 'fc_1',
  call_id: 'call_1',
  name: 'read',
  arguments: '{}',
  status: 'completed',
}
const RESPONSE = { object: 'response', id: 'resp_1', status: 'completed', model: 'large', output: [REASONING, CALL] }
const TOOLS = [{ name: 'read', input_schema: { type: 'object', properties: {} } }]
const USER = { role: 'user', content: 'Read it.' }
const RESULT = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'x' }] }

let vendor: TestUpstream
let another: TestUpstream
beforeAll(async () => {
  vendor = await startUpstream(answersJson(RESPONSE))
  another = await startUpstream(answersJson(RESPONSE))
})
afterAll(async () => {
  for (const one of [vendor, another]) await one[Symbol.asyncDispose]()
})

const backendOf = (env: string, { url }: TestUpstream = vendor) => ({
  name: 'vendor',
  dialects: ['responses'] as const,
  url: url.href,
  basePath: '/v1',
  credential: { env, file: null, as: 'bearer' as const },
})

const KEYS = [newEncryptionKey()] as const

it.each([
  ['is sent back where the deployment has a secret key', KEYS, () => vendor, 'gAAA'],
  ['is left out where the seal depends on the credential alone', null, () => vendor, undefined],
  ['is left out where another server has the name of the backend now', KEYS, () => another, undefined],
])('%s', async (_what, encryptionKeys, findNext, expected) => {
  const next = findNext()
  const team = { models: [servedModel('any/large', { serve: [serveEntry('vendor', 'large')] })] }
  await using gateway = await startGateway({ backends: [backendOf('FIRST_HOUR')], team, encryptionKeys })
  const ask = async (messages: readonly object[]) => {
    const body = { model: 'any/large', max_tokens: 100, tools: TOOLS, messages }
    const response = await gateway.post('/vendorb/v1/messages', body)
    expect(response.status).toBe(200)
    return readList(readObject(await response.json()).content)
  }

  const content = await ask([USER])
  gateway.applyBackends([backendOf('SECOND_HOUR', next)])
  await ask([USER, { role: 'assistant', content }, RESULT])

  const [, second] = readList(bodyOf(next.last()).input).map(readObject)
  expect(next.last().headers.authorization).toBe('Bearer secret-of-SECOND_HOUR')
  expect(second?.encrypted_content).toBe(expected)
})
