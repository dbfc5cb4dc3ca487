import * as oauth from 'oauth4webapi'
import { describe, expect, it } from 'vitest'
import { directoryOf, signInBrowser } from '../support/people.ts'
import { bytes, form, outcomeOf } from '../support/requests.ts'
import { BASE_URL, startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const CLIENT: oauth.Client = { client_id: 'My CLI' }
const DIRECTORY = directoryOf(['ada@example.com', 'grace@example.com'])
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** What a client of the standard is given to reach the service, whose public address is not the one that it listens on. */
function reach(service: TestService) {
  const options = {
    // Loopback has no TLS, which is what the library marks this for.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    [oauth.allowInsecureRequests]: true,
    [oauth.customFetch]: (url: string, init: RequestInit) => service.fetch(url.replace(BASE_URL, ''), init),
  }
  // The library's own options have more to say than these tests.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  return options as { [oauth.allowInsecureRequests]: true; [oauth.customFetch]: never }
}

async function discover(service: TestService) {
  const issuer = new URL(BASE_URL)
  const response = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...reach(service) })
  return oauth.processDiscoveryResponse(issuer, response)
}

async function authorize(service: TestService, parameters: Record<string, string> = {}) {
  const server = await discover(service)
  const response = await oauth.deviceAuthorizationRequest(server, CLIENT, oauth.None(), parameters, reach(service))
  return { server, login: await oauth.processDeviceAuthorizationResponse(server, CLIENT, response) }
}

async function redeem(service: TestService, server: oauth.AuthorizationServer, deviceCode: string) {
  const response = await oauth.deviceCodeGrantRequest(server, CLIENT, oauth.None(), deviceCode, reach(service))
  return oauth.processDeviceCodeResponse(server, CLIENT, response)
}

const token = (service: TestService, fields: Record<string, string>) => service.fetch('/oauth/token', form(fields))

describe('a client of the standard', () => {
  it('signs in as whoever types the code in, calls, and refreshes', async () => {
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
    await service.fetch('/device', form({ action: 'approve', userCode: login.user_code }, { cookie }))

    const tokens = await redeem(service, server, login.device_code)
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 900 })
    const status = await service.clientOf(tokens.access_token).GET('/device')
    expect(status.data?.user.email).toBe('grace@example.com')

    const refreshed = await oauth.refreshTokenGrantRequest(
      server,
      CLIENT,
      oauth.None(),
      tokens.refresh_token ?? '',
      reach(service),
    )
    const next = await oauth.processRefreshTokenResponse(server, CLIENT, refreshed)
    expect(next.refresh_token).not.toBe(tokens.refresh_token)
    expect((await service.clientOf(next.access_token).GET('/v1/models')).response.status).toBe(200)
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'invalid_grant' })
  })

  it('with a login hint is approved by the mail', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service, { login_hint: 'ada@example.com' })
    await service.approveByMail('ada@example.com')
    const tokens = await redeem(service, server, login.device_code)
    const status = await service.clientOf(tokens.access_token).GET('/device')
    expect(status.data?.user.email).toBe('ada@example.com')
  })

  it('with a login hint is nobody else’s to approve', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service, { login_hint: 'ada@example.com' })
    const cookie = await signInBrowser(service, 'grace@example.com')
    const response = await service.fetch('/device', form({ action: 'approve', userCode: login.user_code }, { cookie }))
    expect(response.status).toBe(404)
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'authorization_pending' })
  })

  it('is told when the person said no, and when the time is over', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const { server, login } = await authorize(service)
    const cookie = await signInBrowser(service, 'ada@example.com')
    await service.fetch('/device', form({ action: 'deny', userCode: login.user_code }, { cookie }))
    await expect(redeem(service, server, login.device_code)).rejects.toMatchObject({ error: 'access_denied' })

    const late = await authorize(service)
    service.clock.advance({ seconds: 600 })
    await expect(redeem(service, server, late.login.device_code)).rejects.toMatchObject({ error: 'expired_token' })
  })

  it('becomes one account’s, though two approve at once', async () => {
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

describe('refusals in the form of the standards', () => {
  it.each([
    ['a grant that there is not', { grant_type: 'password' }, '400 unsupported_grant_type'],
    ['no grant', { device_code: 'x' }, '400 invalid_request'],
    ['no device code', { grant_type: DEVICE_GRANT }, '400 invalid_request'],
    ['an unknown device code', { grant_type: DEVICE_GRANT, device_code: 'x' }, '400 invalid_grant'],
    ['no refresh token', { grant_type: 'refresh_token' }, '400 invalid_request'],
    ['an unknown refresh token', { grant_type: 'refresh_token', refresh_token: 'x' }, '401 invalid_grant'],
    ['too much', { grant_type: 'refresh_token', refresh_token: 'x'.repeat(17_000) }, '413 invalid_request'],
  ])('%s', async (_name, fields, outcome) => {
    await using service = await startService()
    const response = await token(service, fields)
    expect(await outcomeOf(response)).toBe(outcome)
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('a refresh of a device that was signed out, or away too long, is 401', async () => {
    await using service = await startService({ directory: DIRECTORY })
    const ada = await service.signIn('ada@example.com')
    const grace = await service.signIn('grace@example.com')
    await service.clientOf(ada.accessToken).POST('/v1/auth/logout')
    const refresh = (refreshToken: string) =>
      token(service, { grant_type: 'refresh_token', refresh_token: refreshToken })
    expect(await outcomeOf(await refresh(ada.refreshToken))).toBe('401 invalid_grant')
    service.clock.advance({ days: 30 })
    expect(await outcomeOf(await refresh(grace.refreshToken))).toBe('401 invalid_grant')
  })

  it.each(['/oauth/device_authorization', '/oauth/token'])('%s takes forms of its own site alone', async (path) => {
    await using service = await startService()
    const json = bytes('{"grant_type":"refresh_token"}', 'application/json')
    expect(await outcomeOf(await service.fetch(path, json))).toBe('415 invalid_request')
    const foreign = form({ grant_type: 'refresh_token' }, { origin: 'https://evil.example' })
    expect(await outcomeOf(await service.fetch(path, foreign))).toBe('403 access_denied')
  })

  it('an address that is not invited, none at all, and too many', async () => {
    await using service = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '3' } })
    const ask = (fields: Record<string, string>) => service.fetch('/oauth/device_authorization', form(fields))
    expect(await outcomeOf(await ask({ login_hint: 'nobody@example.com' }))).toBe('400 access_denied')
    expect(await outcomeOf(await ask({ login_hint: 'a@b.test, c@d.test' }))).toBe('400 invalid_request')
    expect(await outcomeOf(await ask({ padding: 'x'.repeat(17_000) }))).toBe('413 invalid_request')
    await ask({ client_id: 'My CLI' })
    const fourth = await ask({ client_id: 'My CLI' })
    expect(await outcomeOf(fourth)).toBe('429 temporarily_unavailable')
    expect(Number(fourth.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  it('mail that is out of reach', async () => {
    await using service = await startService({ mail: false })
    const response = await service.fetch('/oauth/device_authorization', form({ login_hint: 'ada@example.com' }))
    expect(await outcomeOf(response)).toBe('503 temporarily_unavailable')
  })
})
