import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryOf } from '../support/people.ts'
import { ask, expectOk, form, outcomeOf } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { answersJson, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const GATEWAY_URL = 'https://gateway.example.com'
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const METADATA = [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '/vendorb/.well-known/oauth-authorization-server',
]

let control: TestService
let gateway: TestService
/** In place of a control plane, for what a gateway sends to it. */
let fake: TestUpstream
let beforeFake: TestService

const gatewayOf = (controlPlaneUrl: string, env: Readonly<Record<string, string>> = {}) =>
  startService({
    database: control.database,
    env: { SVC_ROLE: 'gateway', SVC_GATEWAY_URL: GATEWAY_URL, SVC_CONTROL_PLANE_URL: controlPlaneUrl, ...env },
  })

beforeAll(async () => {
  control = await startService({ directory: directoryOf(['ada@example.com']), env: { SVC_ROLE: 'control-plane' } })
  gateway = await gatewayOf(control.origin)
  fake = await startUpstream(answersJson({ ok: true }))
  beforeFake = await gatewayOf(fake.url.origin)
})
afterAll(async () => {
  await beforeFake[Symbol.asyncDispose]()
  await fake[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
  await control[Symbol.asyncDispose]()
})

describe('OAuth at the address of a gateway without a control plane', () => {
  it.each(METADATA)('names the endpoints of the gateway at %s, and the issuer of the tokens', async (path) => {
    const metadata = (await (await gateway.fetch(path)).json()) as Record<string, string>
    expect(metadata).toMatchObject({
      issuer: BASE_URL,
      token_endpoint: `${GATEWAY_URL}/oauth/token`,
      device_authorization_endpoint: `${GATEWAY_URL}/oauth/device_authorization`,
      revocation_endpoint: `${GATEWAY_URL}/oauth/revoke`,
      jwks_uri: `${BASE_URL}/.well-known/jwks.json`,
    })
  })

  it('signs a device in, refreshes and revokes', async () => {
    const start = gateway.fetch(
      '/oauth/device_authorization',
      form({ login_hint: 'ada@example.com', client_id: 'cli' }),
    )
    const { device_code } = (await (await expectOk('The start', start)).json()) as { device_code: string }
    const redeem = () =>
      gateway.fetch('/oauth/token', form({ grant_type: DEVICE_GRANT, device_code, client_id: 'cli' }))
    expect(await outcomeOf(await redeem())).toBe('400 authorization_pending')
    await control.approveByMail('ada@example.com')
    const tokens = (await (await expectOk('The redemption', redeem())).json()) as { refresh_token: string }
    const refresh = (refresh_token: string) =>
      gateway.fetch('/oauth/token', form({ grant_type: 'refresh_token', refresh_token }))
    const refreshed = await expectOk('The refresh', refresh(tokens.refresh_token))
    expect(refreshed.headers.get('cache-control')).toBe('no-store')
    const next = (await refreshed.json()) as { access_token: string; refresh_token: string }
    expect((await gateway.clientOf(next.access_token).GET('/v1/models')).response.status).toBe(200)
    await expectOk('The revocation', gateway.fetch('/oauth/revoke', form({ token: next.refresh_token })))
    expect(await outcomeOf(await refresh(next.refresh_token))).toBe('401 invalid_grant')
  })

  it('sends the form, the client and its address, and nothing else of the request', async () => {
    const headers = {
      'user-agent': 'tool/1.2',
      cookie: 'svc_session=secret',
      authorization: 'Bearer secret',
      'x-forwarded-for': '203.0.113.9',
      'x-other': '1',
    }
    await expectOk(
      'The revocation',
      beforeFake.fetch('/oauth/revoke?secret=1', form({ token: 't', extra: ['ü', 'x'] }, headers)),
    )
    const sent = fake.last()
    expect(sent.body.toString()).toBe('token=t&extra=%C3%BC&extra=x')
    expect([sent.method, sent.url]).toEqual(['POST', '/oauth/revoke'])
    expect(sent.headers).toMatchObject({ 'user-agent': 'tool/1.2', 'x-forwarded-for': '127.0.0.1' })
    expect(JSON.stringify(sent.headers)).not.toMatch(/secret|x-other|203\.0/)
  })

  it('hands on only listed headers of the answer', async () => {
    fake.restart(answersJson({ ok: true }, { headers: { 'set-cookie': 'a=b', location: '/x', pragma: 'no-cache' } }))
    const { headers } = await beforeFake.fetch('/oauth/revoke', form({ token: 't' }))
    expect([headers.get('pragma'), headers.get('set-cookie'), headers.get('location')]).toEqual([
      'no-cache',
      null,
      null,
    ])
  })

  it.each([
    ['is no JSON', answersJson('page', { headers: { 'content-type': 'text/html' } })],
    ['is too large', answersJson('x'.repeat(70_000))],
    ['does not come', ({ socket }: { socket: { destroySoon(): void } }) => socket.destroySoon()],
  ])('is unavailable where the answer %s', async (_name, answer) => {
    fake.restart(answer)
    const response = await beforeFake.fetch('/oauth/token', form({ grant_type: 'refresh_token', refresh_token: 'x' }))
    expect(await outcomeOf(response)).toBe('503 temporarily_unavailable')
  })

  it('follows no redirect, which would send the token elsewhere', async () => {
    fake.restart(answersJson({}, { status: 307, headers: { location: `${fake.url.origin}/elsewhere` } }))
    const response = await beforeFake.fetch('/oauth/token', form({ grant_type: 'refresh_token', refresh_token: 'x' }))
    expect(await outcomeOf(response)).toBe('503 temporarily_unavailable')
    expect(fake.calls).toHaveLength(1)
  })

  it('is unavailable where the request comes back, and does not forward it again', async () => {
    fake.restart(answersJson({ ok: true }))
    const response = await beforeFake.fetch('/oauth/revoke', form({ token: 't' }, { 'x-svc-forwarded': '1' }))
    expect(await outcomeOf(response)).toBe('503 temporarily_unavailable')
    expect(fake.calls).toEqual([])
  })

  it('forwards no more requests of one IPv6 network than a gateway takes in a minute', async () => {
    fake.restart(answersJson({ ok: true }))
    const limits = { SVC_LIMIT_REQUESTS_PER_MINUTE: '1', SVC_TRUST_PROXY: 'loopback' }
    await using limited = await gatewayOf(fake.url.origin, limits)
    const revoke = (address: string) =>
      limited.fetch('/oauth/revoke', form({ token: 't' }, { 'x-forwarded-for': address }))
    expect((await revoke('2001:db8::1')).status).toBe(200)
    expect((await revoke('2001:db8::2')).status).toBe(429)
    expect(fake.calls).toHaveLength(1)
  })

  it.each([
    [
      'pages of other sites',
      '/oauth/token',
      form({ grant_type: 'x' }, { origin: 'https://evil.example' }),
      '403 access_denied',
    ],
    ['other paths below /oauth', '/oauth/authorize', form({}), '404 invalid_request'],
    ['other methods', '/oauth/token', {}, '405 invalid_request'],
    ['forms that are too large', '/oauth/revoke', form({ token: 'x'.repeat(17_000) }), '413 invalid_request'],
  ])('refuses %s without asking the control plane', async (_name, path, init, outcome) => {
    fake.restart(answersJson({ ok: true }))
    expect(await outcomeOf(await beforeFake.fetch(path, init))).toBe(outcome)
    expect(fake.calls).toEqual([])
  })
})

describe('a process with two addresses', () => {
  it('names the endpoints of the address that was asked', async () => {
    await using both = await startService({ env: { SVC_GATEWAY_URL: 'http://127.0.0.1:1' } })
    const at = async (host: string) => {
      const path = '/.well-known/oauth-authorization-server'
      const { body } = await ask(both.port, { path, headers: ['Host', host] })
      return (JSON.parse(body) as { token_endpoint: string }).token_endpoint
    }
    expect(await at('127.0.0.1:1')).toBe('http://127.0.0.1:1/oauth/token')
    expect(await at('evil.example')).toBe(`${BASE_URL}/oauth/token`)
  })
})
