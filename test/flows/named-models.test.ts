import { afterAll, beforeAll, expect, it } from 'vitest'
import { servedModel, startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { outcomeOf } from '../support/requests.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const PATHS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/embeddings',
  '/v1/responses',
  '/codex/v1/responses',
  '/vendorb/v1/messages',
  '/vendorb/v1/messages/count_tokens',
]

const BODY =
  '"model":"v/large","max_tokens":9,"prompt":"hi","input":[{"type":"message","role":"user","content":"hi"}],' +
  '"messages":[{"role":"user","content":"hi"}]'

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream(answersJson({}))
  const { url } = upstream
  const team = { models: [servedModel('v/large'), servedModel('v/small')] }
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
