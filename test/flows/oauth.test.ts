import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, it } from 'vitest'
import { directoryOf, signInBrowser } from '../support/people.ts'
import { bearerOf, bytes, expectData, expectOk, form, outcomeOf } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const CLIENT: oauth.Client = { client_id: 'My CLI' }
const DIRECTORY = directoryOf(['ada@example.com', 'grace@example.com'])
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** Options of the OAuth client that send its requests to the address on which the service listens. */
function clientOptions(service: TestService) {
  const options = {
    // The library marks this option as deprecated to warn of plain HTTP, which is right on loopback.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (url: string, init: RequestInit) => service.fetch(url.replace(BASE_URL, ''), init),
  }
  // The type of the library for a custom fetch is stricter than these tests need.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  return options as { [oauth.allowInsecureRequests]: true; [oauth.customFetch]: never }
}

async function discover(service: TestService) {
  const issuer = new URL(BASE_URL)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...clientOptions(service) })
  return oauth.processDiscoveryResponse(issuer, response)
}

async function authorize(service: TestService, parameters: Record<string, string> = {}) {
  const server = await discover(service)
  const response = await oauth.deviceAuthorizationRequest(
    server,
    CLIENT,
    oauth.None(),
    parameters,
    clientOptions(service),
  )
  return { server, login: await oauth.processDeviceAuthorizationResponse(server, CLIENT, response) }
}

async function redeem(service: TestService, server: oauth.AuthorizationServer, deviceCode: string) {
  const response = await oauth.deviceCodeGrantRequest(server, CLIENT, oauth.None(), deviceCode, clientOptions(service))
  return oauth.processDeviceCodeResponse(server, CLIENT, response)
}

/** The claims of an access token, validated as RFC 9068 asks a resource server to do it. */
function validate(service: TestService, server: oauth.AuthorizationServer, accessToken: string) {
  const request = new Request('https://gateway.example', { headers: bearerOf(accessToken) })
  // The library tells the time by the real clock, the service by the test's.
  const options = {
    ...clientOptions(service),
    [oauth.clockSkew]: service.clock.now().getTime() / 1000 - Date.now() / 1000,
  }
  return oauth.validateJwtAccessToken(server, request, 'svc-gateway', options)
}

const token = (service: TestService, fields: Record<string, string>) => service.fetch('/oauth/token', form(fields))

describe('a standard OAuth client', () => {
  it('signs in as the person who enters the code, calls, validates its token, refreshes and revokes', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service)
    expect(login).toMatchObject({
      user_code: expect.stringMatching(/^[B-Z]{4}-[B-Z]{4}$/),
      verification_uri: `${BASE_URL}/device`,
      verification_uri_complete: `${BASE_URL}/device?userCode=${login.user_code}`,
      expires_in: 600,
      interval: 5,
    })
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'authorization_pending' })
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'slow_down' })

    const cookie = await signInBrowser(service, 'grace@example.com')
    const found = await service.fetch('/device', form({ action: 'find', userCode: login.user_code }, { cookie }))
    expect(await found.text()).toContain('My CLI')
    const approve = form({ action: 'approve', userCode: login.user_code }, { cookie })
    await expectOk('The approval', service.fetch('/device', approve))

    const tokens = await redeem(service, server, login.device_code)
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900 })
    const status = await service.clientOf(tokens.access_token).GET('/device')
    expect(status.data?.user.email).toBe('grace@example.com')
    expect(await validate(service, server, tokens.access_token)).toMatchObject({
      iss: BASE_URL,
      aud: 'svc-gateway',
      client_id: 'My CLI',
      team: '@acme/core',
    })

    const refreshed = await oauth.refreshTokenGrantRequest(
      server,
      CLIENT,
      oauth.None(),
      tokens.refresh_token ?? '',
      clientOptions(service),
    )
    const next = await oauth.processRefreshTokenResponse(server, CLIENT, refreshed)
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    expect(await validate(service, server, next.access_token)).toMatchObject({ client_id: 'My CLI' })
    expect((await service.clientOf(next.access_token).GET('/v1/models')).response.status).toBe(200)
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'invalid_grant' })

    const refreshToken = next.refresh_token ?? ''
    const revoked = await oauth.revocationRequest(server, CLIENT, oauth.None(), refreshToken, clientOptions(service))
    await oauth.processRevocationResponse(revoked)
    expect((await service.clientOf(next.access_token).GET('/v1/models')).response.status).toBe(401)
  })

  it.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
    ['by its client_id', { client_id: 'My CLI' }, { 'user-agent': 'tool/1.2' }, /“?My CLI.*reported by the device/s],
    ['by its User-Agent', { client_id: '' }, { 'user-agent': 'tool/1.2 (linux)' }, />tool<.*reported by the device/s],
    [
      'as unnamed when it reports nothing',
      { client_id: '' },
      { 'user-agent': '' },
      /Unnamed device.*the device reported no name/s,
    ],
  ])('is named %s', async (_, fields, headers, shown) => {
    await using service = await startService({ directory: DIRECTORY })
    const start = service.fetch('/oauth/device_authorization', form(fields, headers))
    const { user_code } = (await (await expectOk('The start', start)).json()) as { user_code: string }
    const cookie = await signInBrowser(service, 'ada@example.com')
    const page = await (
      await service.fetch('/device', form({ action: 'find', userCode: user_code }, { cookie }))
    ).text()
    const part = page.slice(page.indexOf('<dt>Device</dt>'), page.indexOf('<dt>Place</dt>'))
    expect(part).toMatch(shown)
  })

  it('with a login hint is approved by email', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service, { login_hint: 'ada@example.com' })
    await service.approveByMail('ada@example.com')
    const tokens = await redeem(service, server, login.device_code)
    const status = await service.clientOf(tokens.access_token).GET('/device')
    expect(status.data?.user.email).toBe('ada@example.com')
  })

  it('with a login hint cannot be approved by another account', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service, { login_hint: 'ada@example.com' })
    const cookie = await signInBrowser(service, 'grace@example.com')
    const response = await service.fetch('/device', form({ action: 'approve', userCode: login.user_code }, { cookie }))
    expect(response.status).toBe(404)
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'authorization_pending' })
  })

  it('gets access_denied after a denial and expired_token after the expiry', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service)
    const cookie = await signInBrowser(service, 'ada@example.com')
    const deny = form({ action: 'deny', userCode: login.user_code }, { cookie })
    await expectOk('The denial', service.fetch('/device', deny))
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'access_denied' })

    const late = await authorize(service)
    service.clock.advance({ seconds: 600 })
    await expect(redeem(service, server, late.login.device_code)).rejects.toMatchObject({ error: 'expired_token' })
  })

  it('starts the login of the person who enters the code when login_hint is empty', async () => {
    await using service = await startService({ directory: DIRECTORY })
    await expectOk('The start', service.fetch('/oauth/device_authorization', form({ login_hint: '' })))
  })

  it('gets the tokens of one account when two accounts approve at once', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service)
    const cookies = [await signInBrowser(service, 'ada@example.com'), await signInBrowser(service, 'grace@example.com')]
    const pages = await Promise.all(
      cookies.map((cookie) =>
        service.fetch('/device', form({ action: 'approve', userCode: login.user_code }, { cookie })),
      ),
    )
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 404])
    const tokens = await redeem(service, server, login.device_code)
    const winner = pages[0]?.status === 200 ? 'ada@example.com' : 'grace@example.com'
    expect((await service.clientOf(tokens.access_token).GET('/device')).data?.user.email).toBe(winner)
  })
})

describe('a client_id', () => {
  it('binds the device code and the refresh tokens of a login', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { login } = await authorize(service, { login_hint: 'ada@example.com' })
    await service.approveByMail('ada@example.com')
    const redeemAs = (fields: Record<string, string>) =>
      token(service, { grant_type: DEVICE_GRANT, device_code: login.device_code, ...fields })
    expect(await outcomeOf(await redeemAs({ client_id: 'other' }))).toBe('400 invalid_grant')
    const redeemed = await expectOk('The redemption', redeemAs({ client_id: 'My CLI' }))
    const { refresh_token } = (await redeemed.json()) as { refresh_token: string }

    const refreshAs = (fields: Record<string, string>, refreshToken = refresh_token) =>
      token(service, { grant_type: 'refresh_token', refresh_token: refreshToken, ...fields })
    expect(await outcomeOf(await refreshAs({ client_id: 'other' }))).toBe('401 invalid_grant')
    // The refusal has not used the token up.
    const next = (await (
      await expectOk('The refresh', refreshAs({ client_id: 'My CLI' }))
    ).json()) as typeof redeemed & { refresh_token: string }
    expect((await refreshAs({}, next.refresh_token)).status).toBe(200)
  })

  it.each([
    ['of the login over OAuth', 'My CLI'],
    ['svc where it named none', 'svc'],
  ])('of an access token is that %s', async (_name, clientId) => {
    await using service = await startService({ directory: DIRECTORY })
    const fields = { login_hint: 'ada@example.com', ...(clientId !== 'svc' && { client_id: clientId }) }
    const started = await service.fetch('/oauth/device_authorization', form(fields))
    const { device_code } = (await started.json()) as { device_code: string }
    await service.approveByMail('ada@example.com')
    const redeemed = await token(service, { grant_type: DEVICE_GRANT, device_code })
    const { access_token } = (await redeemed.json()) as { access_token: string }
    expect(await validate(service, await discover(service), access_token)).toMatchObject({ client_id: clientId })
  })
})

describe('the error codes of OAuth', () => {
  it.each([
    ['for an unknown grant type', { grant_type: 'password' }, '400 unsupported_grant_type'],
    ['for no grant type', { device_code: 'x' }, '400 invalid_request'],
    ['for no device code', { grant_type: DEVICE_GRANT }, '400 invalid_request'],
    ['for an unknown device code', { grant_type: DEVICE_GRANT, device_code: 'x' }, '400 invalid_grant'],
    ['for no refresh token', { grant_type: 'refresh_token' }, '400 invalid_request'],
    ['for an unknown refresh token', { grant_type: 'refresh_token', refresh_token: 'x' }, '401 invalid_grant'],
    [
      'for a body that is too large',
      { grant_type: 'refresh_token', refresh_token: 'x'.repeat(17_000) },
      '413 invalid_request',
    ],
  ])('are used %s', async (_name, fields, outcome) => {
    await using service = await startService()
    const response = await token(service, fields)
    expect(await outcomeOf(response)).toBe(outcome)
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('are used for a refresh of a signed-out and of an expired session', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const ada = await service.signIn('ada@example.com')
    const grace = await service.signIn('grace@example.com')
    expectData('The sign-out', await service.clientOf(ada.accessToken).POST('/v1/auth/logout'))
    const refresh = (refreshToken: string) =>
      token(service, { grant_type: 'refresh_token', refresh_token: refreshToken })
    expect(await outcomeOf(await refresh(ada.refreshToken))).toBe('401 invalid_grant')
    service.clock.advance({ days: 30 })
    expect(await outcomeOf(await refresh(grace.refreshToken))).toBe('401 invalid_grant')
  })

  it.each(['/oauth/device_authorization', '/oauth/token'])(
    'are used by %s for JSON, a client_id with control characters and another origin',
    async (path) => {
      await using service = await startService()
      const json = bytes('{"grant_type":"refresh_token"}', 'application/json')
      expect(await outcomeOf(await service.fetch(path, json))).toBe('415 invalid_request')
      const control = form({ client_id: 'cli\0', grant_type: 'refresh_token', refresh_token: 'x' })
      expect(await outcomeOf(await service.fetch(path, control))).toBe('400 invalid_request')
      const foreign = form({ grant_type: 'refresh_token' }, { origin: 'https://evil.example' })
      expect(await outcomeOf(await service.fetch(path, foreign))).toBe('403 access_denied')
    },
  )

  it('are used for addresses that are not invited or invalid, large bodies and the rate limit', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '3' } })
    const ask = (fields: Record<string, string>) => service.fetch('/oauth/device_authorization', form(fields))
    expect(await outcomeOf(await ask({ login_hint: 'unknown@example.com' }))).toBe('400 access_denied')
    expect(await outcomeOf(await ask({ login_hint: 'a@b.test, c@d.test' }))).toBe('400 invalid_request')
    expect(await outcomeOf(await ask({ padding: 'x'.repeat(17_000) }))).toBe('413 invalid_request')
    await expectOk('The third start', ask({ client_id: 'My CLI' }))
    const fourth = await ask({ client_id: 'My CLI' })
    expect(await outcomeOf(fourth)).toBe('429 temporarily_unavailable')
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('are used when no mail is configured', async () => {
    await using service = await startService({ mail: false })
    const response = await service.fetch('/oauth/device_authorization', form({ login_hint: 'ada@example.com' }))
    expect(await outcomeOf(response)).toBe('503 temporarily_unavailable')
  })
})

describe('openid-client', () => {
  it('discovers the service at the OpenID path, signs in, refreshes and revokes', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const asked: string[] = []
    const config = await openid.discovery(new URL(BASE_URL), 'My CLI', undefined, openid.None(), {
      // The library marks this option as deprecated to warn of plain HTTP, which is right on loopback.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      execute: [openid.allowInsecureRequests],
      [openid.customFetch]: (url, init) => {
        asked.push(url.replace(BASE_URL, ''))
        return service.fetch(url.replace(BASE_URL, ''), init as RequestInit)
      },
    })
    expect(asked).toEqual(['/.well-known/openid-configuration'])
    const login = await openid.initiateDeviceAuthorization(config, { login_hint: 'ada@example.com' })
    await service.approveByMail('ada@example.com')
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...login, interval: 0.01 })
    const next = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    const list = () => service.clientOf(next.access_token).GET('/v1/models')
    expect((await list()).response.status).toBe(200)
    await openid.tokenRevocation(config, next.refresh_token ?? '')
    expect((await list()).response.status).toBe(401)
  })
})
