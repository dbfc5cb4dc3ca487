import { addPasskey, newAuthenticator, startRegistration, startSignIn } from './passkeys.ts'
import { mailTokenOf, signInBrowser } from './people.ts'
import { bearerOf, form, json, withMethod } from './requests.ts'
import type { TestService } from './service.ts'

type Requests = Readonly<Record<string, () => Promise<Response>>>

/** Requests of one person to every route of the control plane that queries the database. Each would succeed now. */
export type AuthRequests = {
  /** Requests that change nothing. */
  readonly reads: Requests
  readonly writes: Requests
}

/**
 * Brings an unused person into the states that these requests need: signed in, with a pending and an approved login and
 * a passkey.
 */
export async function makeAuthRequests(service: TestService, email: string): Promise<AuthRequests> {
  const device = bearerOf((await service.signIn(email)).accessToken)
  const refreshing = await service.signIn(email, { deviceId: 'refreshing' })
  const revoked = await service.signIn(email, { deviceId: 'revoked' })
  const cookie = { cookie: await signInBrowser(service, email) }
  const approved = await service.startLogin(email, { deviceId: 'approved' })
  await service.approveByMail(email)
  const pending = await service.startLogin(email, { deviceId: 'pending' })
  const token = mailTokenOf(service, email)
  const authenticator = newAuthenticator()
  const passkey = `/v1/auth/passkeys/${await addPasskey(service, cookie, authenticator)}`
  const made = newAuthenticator().create(await startRegistration(service, cookie))
  const used = authenticator.get(await startSignIn(service))

  const get = (path: string, headers = {}) => service.fetch(path, { headers })
  const post = (path: string, body: object = {}, headers = {}) => service.fetch(path, json(body, headers))
  const start = { email, deviceId: 'another' }
  return {
    reads: {
      'show a link': () => get(`/v1/auth/magic/consume?token=${token}`),
      'show a link to a signed-in browser': () => get(`/v1/auth/magic/consume?token=${token}`, cookie),
      'device status by token': () => get('/device', device),
      'device status by cookie': () => get('/device', cookie),
      'list devices': () => get('/v1/devices', device),
      'list passkeys': () => get('/v1/auth/passkeys', cookie),
      'get a team': () => get('/v1/teams/%40acme%2Fcore', device),
    },
    writes: {
      start: () => post('/v1/auth/device/start', start),
      'start by the alias route': () => post('/v1/auth/login/start', start),
      'start by OAuth': () => service.fetch('/oauth/device_authorization', form({ client_id: 'x', login_hint: email })),
      'consume a link': () => post('/v1/auth/magic/consume', { token }),
      'consume a link in a signed-in browser': () =>
        service.fetch('/v1/auth/magic/consume', form({ token }, { ...cookie, accept: '*/*' })),
      poll: () => post('/v1/auth/device/poll', { deviceCode: approved.deviceCode }),
      'poll a pending login': () => post('/v1/auth/device/poll', { deviceCode: pending.deviceCode }),
      refresh: () => post('/v1/auth/token/refresh', { account: email, refreshToken: refreshing.refreshToken }),
      'refresh by OAuth': () =>
        service.fetch('/oauth/token', form({ grant_type: 'refresh_token', refresh_token: refreshing.refreshToken })),
      'revoke by OAuth': () => service.fetch('/oauth/revoke', form({ token: revoked.refreshToken })),
      'approve a device by token': () => post('/device', { userCode: pending.userCode }, device),
      'approve a device by cookie': () => post('/device', { userCode: pending.userCode }, cookie),
      'sign out by token': () => post('/v1/auth/logout', {}, device),
      'sign out by cookie': () => post('/v1/auth/logout', {}, cookie),
      'sign out everywhere': () => post('/v1/auth/logout-everywhere', {}, device),
      'start to add a passkey': () => post('/v1/auth/passkeys/register/start', {}, cookie),
      'add a passkey': () => post('/v1/auth/passkeys/register/finish', { credential: made }, cookie),
      'start to sign in by passkey': () => post('/v1/auth/passkeys/login/start'),
      'sign in by passkey': () => post('/v1/auth/passkeys/login/finish', { credential: used }),
      'rename a passkey': () => service.fetch(passkey, withMethod('PATCH', cookie, { name: 'Key' })),
      'delete a passkey': () => service.fetch(passkey, { method: 'DELETE', headers: cookie }),
    },
  }
}
