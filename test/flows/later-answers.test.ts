import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { messageOf } from '../support/requests.ts'
import { servedModel } from '../support/served-models.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

let upstream: TestUpstream
let gateway: TestGateway

beforeAll(async () => {
  upstream = await startUpstream()
  const team = { models: [servedModel('vendora/large'), servedModel('vendorb/writer')] }
  gateway = await startGateway({ vendora: upstream.url, vendorb: upstream.url, vendorc: upstream.url, team })
})
beforeEach(() => upstream.restart(answersJson({ id: 'resp_1', object: 'response', status: 'queued', output: [] })))
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const RESPONSE = { model: 'vendora/large', input: 'hi' }
const COMPLETION = { model: 'vendora/large', messages: [{ role: 'user', content: 'hi' }] }

describe('an answer that is fetched later', () => {
  it.each([
    ['a response in the background', '/v1/responses', { ...RESPONSE, background: true }],
    ['one of Codex', '/codex/v1/responses', { ...RESPONSE, background: true }],
    ['one that streams', '/v1/responses', { ...RESPONSE, background: true, stream: true }],
    ['one in a form that some servers read as true', '/v1/responses', { ...RESPONSE, background: 'true' }],
    ['one of another dialect', '/v1/responses', { ...RESPONSE, background: true, model: 'vendorb/writer' }],
    ['a deferred completion of xAI', '/v1/chat/completions', { ...COMPLETION, deferred: true }],
  ])('is refused, because no route fetches it: %s', async (_name, path, body) => {
    const res = await gateway.post(path, body)
    expect([res.status, await messageOf(res)]).toEqual([
      400,
      expect.stringMatching(/^(background|deferred): .*leave \1 out/),
    ])
    expect(upstream.calls).toEqual([])
  })

  it.each([
    ['/v1/responses', { ...RESPONSE, background: false }],
    ['/v1/responses', { ...RESPONSE, background: null }],
    ['/v1/chat/completions', { ...COMPLETION, deferred: false }],
    // A member of the other dialect.
    ['/v1/chat/completions', { ...COMPLETION, background: true }],
  ])('is not asked for: %s %j', async (path, body) => {
    expect((await gateway.post(path, body)).status).toBe(200)
    expect(JSON.parse(upstream.last().body.toString())).toEqual(body)
  })
})
