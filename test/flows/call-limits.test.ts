import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contractOf, readContract, routesOf } from '../../src/http/contract.ts'
import { isOpen } from '../support/contract/contract-request.ts'
import { atOnce, bearerOf, expectOk, json, messageOf, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { USD } from '../support/spending-limits.ts'
import { answersJson, neverAnswers, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

/** Operations without a credential, such as the health check, are not limited. */
const operations = routesOf(contractOf(readContract(), 'gateway')).filter(({ operation }) => !isOpen(operation))

const PEOPLE = `
organizations:
  - name: acme
    teams:
      - name: core
        models: [vendora/large]
        members: [{ email: ada@example.com, role: admin }, { email: bob@example.com }, { email: carol@example.com }]
models:
  - { id: vendora/large, displayName: Large, owner: vendora, price: { input: 20, output: 0 } }
`

const exampleOf = (content: Record<string, unknown> | undefined) =>
  (content?.['application/json'] as { example?: object } | undefined)?.example ?? {}

describe('the request limit of one address', () => {
  let service: TestService

  beforeAll(async () => {
    service = await startService({ env: { SVC_LIMIT_REQUESTS_PER_MINUTE: '2' } })
    for (const _ of [1, 2]) await service.fetch('/v1/models')
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it.each(operations)('answers 429 rate_limited with Retry-After beyond the limit: $id', async (route) => {
    const path = route.path.replaceAll(/\{\w+\}/g, 'local-engine')
    const { requestBody } = route.operation
    const response = await service.fetch(path, requestBody ? json(exampleOf(requestBody.content)) : {})
    expect(await outcomeOf(response)).toBe('429 rate_limited')
    const seconds = Number(response.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(60)
  })

  it('does not apply to the health checks', async () => {
    const statuses = await atOnce(10, async () => (await service.fetch('/healthz')).status)
    expect(tally(statuses.map(String))).toEqual({ 200: 10 })
    expect((await service.fetch('/readyz')).status).toBe(200)
  })

  it('does not apply to the control plane', async () => {
    expect(await outcomeOf(await service.fetch('/v1/teams/%40acme%2Fcore'))).toBe('401 unauthorized')
    expect((await service.fetch('/.well-known/jwks.json')).status).toBe(200)
  })

  it('counts by the peer’s address, whatever addresses a client sends in headers', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=203.0.113.9', 'x-real-ip': '203.0.113.9' }
    expect(await outcomeOf(await service.fetch('/v1/models', { headers }))).toBe('429 rate_limited')
  })
})

describe('the request limit of one account', () => {
  let service: TestService
  let callers: { ada: Record<string, string>; bob: Record<string, string> }

  beforeAll(async () => {
    service = await startService({
      directory: PEOPLE,
      env: { SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: '2', SVC_LIMIT_REQUESTS_PER_MINUTE: '5' },
    })
    const bearer = async (email: string) => bearerOf((await service.signIn(email)).accessToken)
    callers = { ada: await bearer('ada@example.com'), bob: await bearer('bob@example.com') }
    for (const _ of [1, 2]) expect((await service.fetch('/v1/models', { headers: callers.ada })).status).toBe(200)
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it.each(['/v1/chat/completions', '/v1/responses', '/codex/v1/responses', '/vendorb/v1/messages'])(
    'answers beyond the limit in a form that clients of every dialect read, with Retry-After: %s',
    async (path) => {
      const response = await service.fetch(path, json({ model: 'vendora/large' }, callers.ada))
      expect(response.status).toBe(429)
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      expect(await response.json()).toMatchObject({
        type: 'error',
        error: { type: 'rate_limit_error', code: 'rate_limited', message: expect.stringMatching(/^Your account/) },
      })
    },
  )

  it('leaves the limit of the address to others there, however often the account is refused', async () => {
    const refused = await atOnce(10, async () => outcomeOf(await service.fetch('/v1/models', { headers: callers.ada })))
    // Some of them find the limit of the address taken for a moment.
    expect(tally(refused)).toEqual({ '429 rate_limited': 10 })
    const passed = await atOnce(2, async () => outcomeOf(await service.fetch('/v1/models', { headers: callers.bob })))
    expect(tally(passed)).toEqual({ 200: 2 })
  })

  it('counts the requests to the control plane apart', async () => {
    const list = async () => outcomeOf(await service.fetch('/v1/devices', { headers: callers.bob }))
    expect(tally(await atOnce(3, list))).toEqual({ 200: 2, '429 rate_limited': 1 })
  })

  it('does not count requests without a valid credential for any account', async () => {
    expect(await outcomeOf(await service.fetch('/v1/models'))).toBe('401 unauthorized')
    expect(await outcomeOf(await service.fetch('/v1/models'))).toBe('429 rate_limited')
  })
})

describe('the limits', () => {
  it('count by the address that a trusted proxy names', async () => {
    await using service = await startService({
      env: { SVC_LIMIT_REQUESTS_PER_MINUTE: '1', SVC_TRUST_PROXY: 'loopback' },
    })
    const ask = async (ip: string) =>
      outcomeOf(await service.fetch('/v1/models', { headers: { 'x-forwarded-for': ip } }))
    expect(await ask('203.0.113.9')).toBe('401 unauthorized')
    expect(await ask('203.0.113.9')).toBe('429 rate_limited')
    expect(await ask('203.0.113.10')).toBe('401 unauthorized')
    // One customer has a whole /64 network.
    expect(await ask('2001:db8:1:2::1')).toBe('401 unauthorized')
    expect(await ask('2001:db8:1:2:ffff::2')).toBe('429 rate_limited')
  })

  it('are off when they are 0', async () => {
    const off = { SVC_LIMIT_REQUESTS_PER_MINUTE: '0', SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: '0' }
    await using service = await startService({ env: off })
    const outcomes = await atOnce(30, async () => outcomeOf(await service.fetch('/v1/models')))
    expect(tally(outcomes)).toEqual({ '401 unauthorized': 30 })
  })

  it('let a burst of 25 count_tokens calls pass with default settings', async () => {
    await using upstream = await startUpstream(answersJson({ input_tokens: 5 }))
    await using service = await startService({ env: { SVC_VENDORB_UPSTREAM_URL: upstream.url.href } })
    const { accessToken } = await service.signIn('ada@example.com')
    const body = { model: 'vendorb/writer', messages: [{ role: 'user', content: 'Hi' }] }
    const outcomes = await atOnce(25, async () =>
      outcomeOf(await service.fetch('/vendorb/v1/messages/count_tokens', json(body, bearerOf(accessToken)))),
    )
    expect(tally(outcomes)).toEqual({ 200: 25 })
  })
})

describe('the stream limits of one account and of one address', () => {
  let upstream: TestUpstream
  let service: TestService
  let headers: Record<string, string>
  let others: Record<string, string>

  beforeAll(async () => {
    upstream = await startUpstream()
    service = await startService({
      directory: PEOPLE,
      env: {
        SVC_LIMIT_ACCOUNT_STREAMS: '2',
        SVC_LIMIT_STREAMS: '3',
        SVC_VENDORA_UPSTREAM_URL: upstream.url.href,
        SVC_UPSTREAM_IDLE_TIMEOUT_SECONDS: '1',
        SVC_TRUST_PROXY: 'loopback',
      },
    })
    // Two addresses of one IPv6 network, which count as one.
    const from = async (email: string, address: string) => {
      return { ...bearerOf((await service.signIn(email)).accessToken), 'x-forwarded-for': address }
    }
    headers = await from('ada@example.com', '2001:db8::1')
    others = await from('bob@example.com', '2001:db8::2')
  })
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    await upstream[Symbol.asyncDispose]()
  })

  const body = { model: 'vendora/large', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
  const open = (given: object = {}, init: RequestInit = {}) =>
    service.fetch('/v1/chat/completions', { ...json({ ...body, ...given }, headers), ...init })
  const whole = streams(['data: {"choices":[]}\n\n', 'data: [DONE]\n\n'])
  /** The answer, once all of it has come or it has broken off. */
  const ended = async (answer: Promise<Response>) => {
    const response = await answer
    const rest = response.clone()
    await rest.text().catch(() => '')
    return response
  }
  /** Fails unless two streams can be open now. */
  const expectTwoFree = async () => {
    upstream.restart(whole)
    await expect
      .poll(async () => tally(await atOnce(2, async () => outcomeOf(await ended(open())))), { timeout: 5000 })
      .toEqual({ 200: 2 })
  }

  it('refuse streams beyond the limit of the account, but no calls that do not stream', async () => {
    upstream.restart(streams(['data: {"choices":[]}\n\n'], { end: 'stalls' }))
    const leaving = new AbortController()
    const opened = await atOnce(2, () => open({}, { signal: leaving.signal }))
    expect(opened.map(({ status }) => status)).toEqual([200, 200])

    const refused = await open()
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await refused.json()).toMatchObject({
      error: { message: expect.stringContaining('2 streams of your account') },
    })
    upstream.restart(answersJson({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [] }))
    expect((await open({ stream: false })).status).toBe(200)
    leaving.abort()
    await expectTwoFree()
  })

  it('let another account at the same address open streams, up to the limit of the address', async () => {
    upstream.restart(streams(['data: {"choices":[]}\n\n'], { end: 'stalls' }))
    const leaving = new AbortController()
    const { signal } = leaving
    expect((await atOnce(2, () => open({}, { signal }))).map(({ status }) => status)).toEqual([200, 200])
    const asAnother = () => service.fetch('/v1/chat/completions', { ...json(body, others), signal })
    expect((await asAnother()).status).toBe(200)
    const refused = await asAnother()
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining('3 streams from your') } })
    leaving.abort()
    await expectTwoFree()
  })

  it.each([
    ['a whole stream', whole, 200],
    ['a stream that breaks', streams(['data: {"choices":[]}\n\n'], { end: 'breaks' }), 200],
    ['an error of the upstream', answersJson({ error: { message: 'no' } }, { status: 500 }), 500],
    ['silence', neverAnswers, 504],
    ['silence in the middle', streams(['data: {"choices":[]}\n\n'], { end: 'stalls' }), 200],
  ] as const)('count a stream no longer after %s', async (_, script, status) => {
    upstream.restart(script)
    const both = await atOnce(2, () => ended(open()))
    expect(both.map((response) => response.status)).toEqual([status, status])
    await expectTwoFree()
  })

  it('do not count refused calls', async () => {
    for (const _ of [1, 2, 3]) expect(await outcomeOf(await open({ model: 'svc/none' }))).toBe('403 model_not_allowed')
    await expectTwoFree()
  })

  it('count a stream no longer when its caller has left before an answer', async () => {
    upstream.restart(neverAnswers)
    const leaving = new AbortController()
    const opened = atOnce(2, () => open({}, { signal: leaving.signal }).catch(() => null))
    await expect.poll(() => upstream.calls.length).toBe(2)
    leaving.abort()
    await opened
    await expectTwoFree()
  })

  it('keep nothing reserved of a spending limit for a stream that they refuse', async () => {
    upstream.restart(streams(['data: {"choices":[]}\n\n'], { end: 'stalls' }))
    const carol = bearerOf((await service.signIn('carol@example.com')).accessToken)
    // A call of 4,000 bytes may cost 0.02 USD, so the limit has room for three at the same time.
    const limit = { subject: 'member', of: 'carol@example.com', period: 'day', amountNanoUsd: 0.07 * USD }
    await expectOk('The limit', service.fetch('/v1/teams/%40acme%2Fcore/limits', json(limit, headers)))
    const messages = [{ role: 'user', content: 'x'.repeat(3900) }]
    const leaving = new AbortController()
    const asCarol = () => {
      const init = { ...json({ ...body, messages }, carol), signal: leaving.signal }
      return service.fetch('/v1/chat/completions', init)
    }
    expect((await atOnce(2, asCarol)).map(({ status }) => status)).toEqual([200, 200])
    for (const _ of [1, 2, 3]) expect(await messageOf(await asCarol())).toContain('2 streams of your account')
    leaving.abort()
    await expectTwoFree()
  })
})
