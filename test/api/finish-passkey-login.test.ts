import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AuthenticationCredential, TokenSet } from '../../generated/sdk/index.js'
import {
  addPasskey,
  finishSignIn,
  newAuthenticator,
  signInWithPasskey,
  startRegistration,
  startSignIn,
} from '../support/passkeys.ts'
import type { Authenticator } from '../support/passkeys.ts'
import { cookiesOf, people } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, atOnce, expectOk, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/passkeys/login/finish'
const IN_COOKIES = { 'x-svc-use-cookies': 'true' }
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

/** An account with a passkey. */
async function owner(options: Parameters<typeof newAuthenticator>[0] = {}) {
  const email = persons.next()
  const authenticator = newAuthenticator(options)
  const { accessToken } = await service.signIn(email)
  const passkeyId = await addPasskey(service, bearerOf(accessToken), authenticator)
  return { email, authenticator, passkeyId, accessToken }
}

const WELL_FORMED = {
  credential: {
    id: 'AAAA',
    rawId: 'AAAA',
    type: 'public-key',
    response: { clientDataJSON: 'e30', authenticatorData: 'AAAA', signature: 'AAAA', userHandle: 'AAAA' },
  },
}

describe('finishPasskeyLogin', () => {
  describe('200', () => {
    it('returns tokens that are valid for requests and for a refresh', async () => {
      const { email, authenticator } = await owner()
      const response = await signInWithPasskey(service, authenticator, { deviceId: 'desk', deviceName: 'Desk' })
      expect(response.status).toBe(200)
      const tokens = (await response.json()) as TokenSet
      expect(tokens).toMatchObject({ account: email, organization: 'acme', team: '@acme/core', deviceId: 'desk' })
      const status = await service.clientOf(tokens.accessToken).GET('/device')
      expect(status.data?.user.email).toBe(email)
      const body = { account: email, refreshToken: tokens.refreshToken }
      expect((await service.client.POST('/v1/auth/token/refresh', { body })).response.status).toBe(200)
    })

    it('signs in the named account, and chooses a device id when there is none', async () => {
      const { email, authenticator } = await owner()
      const credential = authenticator.get(await startSignIn(service, email))
      const response = await finishSignIn(service, credential, { email: ` ${email.toUpperCase()} ` })
      expect(((await response.json()) as TokenSet).deviceId).toMatch(/^web-[0-9a-f-]{36}$/)
    })

    it('ends the earlier session of the same device id', async () => {
      const { authenticator } = await owner()
      const first = (await (await signInWithPasskey(service, authenticator, { deviceId: 'same' })).json()) as TokenSet
      await signInWithPasskey(service, authenticator, { deviceId: 'same' })
      expect((await service.clientOf(first.accessToken).GET('/device')).response.status).toBe(401)
    })

    it('notifies the account by email and writes an audit event', async () => {
      const { email, authenticator } = await owner()
      await service.mailbox.waitFor(email, 'A new device signed in')
      await signInWithPasskey(service, authenticator, { deviceName: 'Night shift' })
      const mails = await service.mailbox.waitFor(email, 'A new device signed in', 2)
      expect(mails[1]?.text).toContain('Night shift')
      expect(mails[1]?.text).toContain('with your passkey')
    })

    it('in cookie mode returns no token, and keeps the browser signed in longer than the access token', async () => {
      const { email, authenticator } = await owner()
      const response = await signInWithPasskey(service, authenticator, {}, IN_COOKIES)
      expect(await response.json()).toMatchObject({ accessToken: '[redacted]', refreshToken: '[redacted]' })
      const cookies = Object.fromEntries(
        cookiesOf(response)
          .split('; ')
          .map((pair) => pair.split('=') as [string, string]),
      )
      expect(Object.keys(cookies).sort()).toEqual(['svc_access', 'svc_refresh', 'svc_session'])
      const page = await service.fetch('/device', { headers: { cookie: `svc_session=${cookies['svc_session']}` } })
      expect(await page.json()).toMatchObject({ user: { email } })
    })

    it('in cookie mode keeps one device per browser, and ends its session with the device', async () => {
      const { authenticator } = await owner()
      const first = await signInWithPasskey(service, authenticator, {}, IN_COOKIES)
      const second = await signInWithPasskey(service, authenticator, {}, { ...IN_COOKIES, cookie: cookiesOf(first) })
      const [one, two] = [(await first.json()) as TokenSet, (await second.json()) as TokenSet]
      expect(two.deviceId).toBe(one.deviceId)

      const ask = (response: Response) => service.fetch('/device', { headers: { cookie: sessionOf(response) } })
      expect([(await ask(first)).status, (await ask(second)).status]).toEqual([401, 200])
      const session = await service.database.prisma.deviceSession.findFirstOrThrow({
        where: { deviceId: two.deviceId, revokedAt: null },
      })
      const revocation = { method: 'DELETE', headers: { cookie: sessionOf(second) } }
      await expectOk('Signing the device out', service.fetch(`/v1/devices/${session.id}`, revocation))
      expect((await ask(second)).status).toBe(401)
    })

    it('in cookie mode tells a person nothing of the device of another one in the same browser', async () => {
      const [former, next] = [await owner(), await owner()]
      const first = await signInWithPasskey(service, former.authenticator, {}, IN_COOKIES)
      const headers = { ...IN_COOKIES, cookie: cookiesOf(first) }
      const second = await signInWithPasskey(service, next.authenticator, {}, headers)
      const [one, two] = [(await first.json()) as TokenSet, (await second.json()) as TokenSet]
      expect(two.account).toBe(next.email)
      expect(two.deviceId).not.toBe(one.deviceId)
    })

    it('accepts a synced passkey, whose counter stays 0, more than once', async () => {
      const { authenticator } = await owner({ signCounterIncrement: 0 })
      for (let times = 0; times < 3; times++) expect((await signInWithPasskey(service, authenticator)).status).toBe(200)
    })

    it('accepts the challenges of two tabs independently', async () => {
      const { authenticator } = await owner()
      const [first, second] = [await startSignIn(service), await startSignIn(service)]
      expect((await finishSignIn(service, authenticator.get(first))).status).toBe(200)
      expect((await finishSignIn(service, authenticator.get(second))).status).toBe(200)
    })

    it('accepts an answer once when it arrives several times at the same time', async () => {
      const { authenticator } = await owner()
      const credential = authenticator.get(await startSignIn(service))
      const outcomes = await atOnce(20, async () => outcomeOf(await finishSignIn(service, credential)))
      expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': 19 })
    })
  })

  describeRefusals({
    service: () => service,
    method: 'POST',
    path: PATH,
    by: null,
    body: WELL_FORMED,
    limitBytes: 64 * 1024,
  })

  describe('401', () => {
    const refusal = async (response: Response) => `${response.status} ${await response.text()}`
    /** The answer to an unknown credential. Every other refusal must be the same, byte for byte. */
    const expectRefused = async (response: Response) =>
      expect(await refusal(response)).toBe(await refusal(await finishSignIn(service, WELL_FORMED.credential)))

    const signed = async (authenticator: Authenticator, origin?: string) =>
      authenticator.get(await startSignIn(service), origin)

    it('refuses an answer that was already used', async () => {
      const credential = await signed((await owner()).authenticator)
      await finishSignIn(service, credential)
      await expectRefused(await finishSignIn(service, credential))
    })

    it.each(['null', '1', '"x"', '[]', '{"challenge":1}', 'no JSON'])(
      'refuses client data that is %s',
      async (text) => {
        const clientDataJSON = Buffer.from(text).toString('base64url')
        const { credential } = WELL_FORMED
        await expectRefused(
          await finishSignIn(service, { ...credential, response: { ...credential.response, clientDataJSON } }),
        )
      },
    )

    it('refuses a forged signature and invalidates the challenge', async () => {
      const credential = await signed((await owner()).authenticator)
      await expectRefused(await finishSignIn(service, forged(credential)))
      await expectRefused(await finishSignIn(service, credential))
    })

    it('refuses a passkey of another account than the one named at start or finish', async () => {
      const [mine, theirs] = [await owner(), await owner()]
      const atStart = mine.authenticator.get(await startSignIn(service, theirs.email))
      await expectRefused(await finishSignIn(service, atStart))
      await expectRefused(await finishSignIn(service, await signed(mine.authenticator), { email: theirs.email }))
    })

    it('refuses the user handle of another account and a missing user handle', async () => {
      for (const userHandle of ['AAAAAAAAAAAAAAAAAAAAAA', null]) {
        const credential = await signed((await owner()).authenticator)
        await expectRefused(
          await finishSignIn(service, { ...credential, response: { ...credential.response, userHandle } }),
        )
      }
    })

    it('refuses the challenge of a registration', async () => {
      const { authenticator, accessToken } = await owner()
      const { challenge } = await startRegistration(service, bearerOf(accessToken))
      await expectRefused(
        await finishSignIn(service, authenticator.get({ ...(await startSignIn(service)), challenge })),
      )
    })

    it('refuses a challenge that the service did not create', async () => {
      const { authenticator } = await owner()
      const challenge = Buffer.alloc(32, 7).toString('base64url')
      await expectRefused(
        await finishSignIn(service, authenticator.get({ ...(await startSignIn(service)), challenge })),
      )
    })

    it('refuses an answer after five minutes', async () => {
      await using own = await startService()
      const authenticator = newAuthenticator()
      await addPasskey(own, bearerOf((await own.signIn('ada@example.com')).accessToken), authenticator)
      const options = await startSignIn(own)
      own.clock.advance({ seconds: 300 })
      expect(await outcomeOf(await finishSignIn(own, authenticator.get(options)))).toBe('401 unauthorized')
    })

    it('refuses an answer from another port of the host', async () => {
      await expectRefused(
        await finishSignIn(service, await signed((await owner()).authenticator, 'http://localhost:1')),
      )
    })

    it.each([
      ['verified', { uv: false }],
      ['present', { up: false }],
    ])('refuses an answer without the flag that the user was %s', async (_name, flags) => {
      const email = persons.next()
      const { accessToken } = await service.signIn(email)
      const said = { uv: true, up: true }
      const authenticator = newAuthenticator(said)
      await addPasskey(service, bearerOf(accessToken), authenticator)
      Object.assign(said, flags)
      await expectRefused(await finishSignIn(service, await signed(authenticator)))
    })

    it('refuses a counter that did not grow, keeps the passkey and writes an audit event', async () => {
      const { authenticator, passkeyId } = await owner()
      await signInWithPasskey(service, authenticator)
      await service.database.prisma.passkey.update({ where: { id: passkeyId }, data: { counter: 99 } })
      await expectRefused(await signInWithPasskey(service, authenticator))
      const rows = await service.database.prisma.auditEvent.findMany({
        where: { subjectId: passkeyId },
        orderBy: { id: 'asc' },
      })
      expect(rows.map(({ kind }) => kind)).toEqual(['passkey.added', 'passkey.counter_regressed'])
      expect(rows.at(-1)?.details).toEqual({ stored: 99, reported: 2 })
      expect(await service.database.prisma.passkey.count({ where: { id: passkeyId } })).toBe(1)
    })
  })

  describe('403', () => {
    it('refuses an account whose invitation was withdrawn', async () => {
      await using own = await startService()
      const authenticator = newAuthenticator()
      await addPasskey(own, bearerOf((await own.signIn('ada@example.com')).accessToken), authenticator)
      await own.applyDirectory('organizations: []\nmodels: []\n')
      expect(await outcomeOf(await signInWithPasskey(own, authenticator))).toBe('403 not_invited')
    })

    it('refuses a team that the account is not in', async () => {
      const { authenticator } = await owner()
      expect(await outcomeOf(await signInWithPasskey(service, authenticator, { team: '@acme/other' }))).toBe(
        '403 not_invited',
      )
    })
  })
})

function sessionOf(response: Response): string {
  return cookiesOf(response)
    .split('; ')
    .filter((pair) => pair.startsWith('svc_session='))
    .join()
}

function forged(credential: AuthenticationCredential): AuthenticationCredential {
  const signature = Buffer.from(credential.response.signature, 'base64url')
  signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1
  return { ...credential, response: { ...credential.response, signature: signature.toString('base64url') } }
}
