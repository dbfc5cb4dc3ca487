import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { mailTokenOf, people, signInBrowser, tokenOf } from '../support/people.ts'
import { bearerOf, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

/** One secret of each kind, all of one person. */
async function issueSecrets() {
  const email = persons.next()
  const signedIn = await service.signIn(email, { deviceId: 'first' })
  const cookie = await signInBrowser(service, email)
  const login = await service.startLogin(email, { deviceId: 'second' })
  return {
    email,
    deviceCode: login.deviceCode,
    secrets: {
      'device code': login.deviceCode,
      'user code': login.userCode,
      'mail token': mailTokenOf(service, email),
      'token in the start response': tokenOf(login.verificationUri),
      'refresh token': signedIn.refreshToken,
      'access token': signedIn.accessToken,
      'session cookie': cookie.split('=')[1] ?? '',
    },
  }
}

type SecretKind = keyof Awaited<ReturnType<typeof issueSecrets>>['secrets']

/** What accepts a secret, the kinds that it accepts, and how a secret is presented to it. */
const acceptors: Record<
  string,
  { accepts: readonly SecretKind[]; present: (secret: string, email: string) => Promise<Response> }
> = {
  'a magic link': {
    accepts: ['mail token'],
    present: (secret) => service.fetch('/v1/auth/magic/consume', json({ token: secret })),
  },
  'a device code': {
    accepts: ['device code'],
    present: (secret) => service.fetch('/v1/auth/device/poll', json({ deviceCode: secret })),
  },
  'a refresh token': {
    accepts: ['refresh token'],
    present: (secret, email) => service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken: secret })),
  },
  'a bearer token': {
    accepts: ['access token'],
    present: (secret) => service.fetch('/device', { headers: bearerOf(secret) }),
  },
  'a bearer token of the gateway': {
    accepts: ['access token'],
    present: (secret) => service.fetch('/v1/models', { headers: bearerOf(secret) }),
  },
  'an API key of the gateway': {
    accepts: ['access token'],
    present: (secret) => service.fetch('/vendorb/v1/models', { headers: { 'x-api-key': secret } }),
  },
  'a session cookie': {
    accepts: ['session cookie'],
    present: (secret) => service.fetch('/device', { headers: { cookie: `svc_session=${secret}` } }),
  },
  'an access cookie': {
    accepts: ['access token'],
    present: (secret) => service.fetch('/device', { headers: { cookie: `svc_access=${secret}` } }),
  },
  'a refresh cookie': {
    accepts: ['refresh token'],
    present: (secret) =>
      service.fetch('/v1/auth/token/refresh', {
        method: 'POST',
        headers: { cookie: `svc_refresh=${secret}`, 'x-svc-use-cookies': 'true' },
      }),
  },
}

describe.each(Object.entries(acceptors))('%s', (_, { accepts, present }) => {
  it(`accepts only a ${accepts.join(' or ')}; other secrets are refused and change nothing`, async () => {
    const { email, deviceCode, secrets } = await issueSecrets()
    for (const [kind, secret] of Object.entries(secrets)) {
      if (accepts.includes(kind as SecretKind)) continue
      expect([400, 401], kind).toContain((await present(secret, email)).status)
    }
    const poll = await service.fetch('/v1/auth/device/poll', json({ deviceCode }))
    expect(await outcomeOf(poll)).toBe('428 authorization_pending')

    for (const kind of accepts) {
      service.clock.advance({ seconds: 5 })
      const response = await present(secrets[kind], email)
      expect([200, 428], kind).toContain(response.status)
    }
  })
})
