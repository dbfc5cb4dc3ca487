import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  addPasskey,
  finishRegistration,
  newAuthenticator,
  startRegistration,
  startSignIn,
} from '../support/passkeys.ts'
import { people, signInBrowser } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, atOnce, expectOk, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/passkeys/register/finish'
const persons = people()
let service: TestService
let authorization: string

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  authorization = `Bearer ${(await service.signIn(persons.next())).accessToken}`
})
afterAll(() => service[Symbol.asyncDispose]())

const signIn = async (email = persons.next()) => bearerOf((await service.signIn(email)).accessToken)
const WELL_FORMED = {
  credential: {
    id: 'AAAA',
    rawId: 'AAAA',
    type: 'public-key',
    response: { clientDataJSON: 'e30', attestationObject: 'oA' },
  },
}

describe('finishPasskeyRegistration', () => {
  describe('200', () => {
    it('adds the passkey with the given name and notifies the account by email', async () => {
      const email = persons.next()
      const by = await signIn(email)
      const credential = newAuthenticator().create(await startRegistration(service, by))
      const response = await finishRegistration(service, by, credential, '  Work\u202E laptop ')
      expect(response.status).toBe(200)
      expect(await response.json()).toEqual({
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'Work laptop',
        createdAt: service.clock.now().toISOString(),
        lastUsedAt: null,
        synced: expect.any(Boolean),
      })
      const [mail] = await service.mailbox.waitFor(email, 'A passkey was added')
      expect(mail?.text).toContain('Work laptop')
    })

    it('writes one audit event without a secret', async () => {
      const email = persons.next()
      const id = await addPasskey(service, await signIn(email), newAuthenticator())
      const rows = await service.database.prisma.auditEvent.findMany({
        where: { subjectId: id },
        orderBy: { id: 'asc' },
      })
      expect(rows.map(({ kind }) => kind)).toEqual(['passkey.added'])
    })

    it('names the passkey by the date when no name is given', async () => {
      const by = await signIn()
      const response = await finishRegistration(
        service,
        by,
        newAuthenticator().create(await startRegistration(service, by)),
      )
      expect(await response.json()).toMatchObject({
        name: expect.stringMatching(/^Passkey of \d+ \w+ \d{4}, \d\d:\d\d UTC$/),
      })
    })

    it('keeps the transports of the authenticator, also unknown ones, and drops what is no word', async () => {
      const by = await signIn()
      const credential = newAuthenticator().create(await startRegistration(service, by))
      const response = { ...credential.response, transports: ['usb', 'later-one', '\0', ''] }
      await expectOk('The registration', finishRegistration(service, by, { ...credential, response }))
      const { excludeCredentials } = await startRegistration(service, by)
      expect(excludeCredentials.map(({ transports }) => transports)).toEqual([['usb', 'later-one']])
    })

    it('accepts the challenges of two tabs independently', async () => {
      const by = await signIn()
      const authenticators = [newAuthenticator(), newAuthenticator()]
      const first = authenticators[0]?.create(await startRegistration(service, by))
      const second = authenticators[1]?.create(await startRegistration(service, by))
      expect((await finishRegistration(service, by, first)).status).toBe(200)
      expect((await finishRegistration(service, by, second)).status).toBe(200)
    })

    it('adds one passkey when the same answer arrives several times at the same time', async () => {
      const by = await signIn()
      const credential = newAuthenticator().create(await startRegistration(service, by))
      const outcomes = await atOnce(20, async () => outcomeOf(await finishRegistration(service, by, credential)))
      expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': 19 })
    })
  })

  describeRefusals({
    service: () => service,
    method: 'POST',
    path: PATH,
    by: () => ({ authorization }),
    body: WELL_FORMED,
    limitBytes: 64 * 1024,
  })

  describe('400', () => {
    it('refuses a name without visible characters', async () => {
      const by = await signIn()
      const credential = newAuthenticator().create(await startRegistration(service, by))
      expect(await outcomeOf(await finishRegistration(service, by, credential, '\u200b'))).toBe('400 invalid_request')
    })
  })

  describe('401', () => {
    const refused = async (by: Parameters<typeof finishRegistration>[1], credential: unknown) =>
      expect(await outcomeOf(await finishRegistration(service, by, credential))).toBe('401 unauthorized')

    it('refuses a challenge of another session of the account', async () => {
      const email = persons.next()
      const by = await signIn(email)
      const cookie = await signInBrowser(service, email)
      await refused({ cookie }, newAuthenticator().create(await startRegistration(service, by)))
    })

    it('refuses a challenge of another account', async () => {
      const by = await signIn()
      await refused(by, newAuthenticator().create(await startRegistration(service, await signIn())))
    })

    it('refuses the challenge of a sign-in', async () => {
      const by = await signIn()
      const { challenge } = await startSignIn(service)
      await refused(by, newAuthenticator().create({ ...(await startRegistration(service, by)), challenge }))
    })

    it('refuses an answer after five minutes', async () => {
      await using own = await startService()
      const by = bearerOf((await own.signIn('ada@example.com')).accessToken)
      const credential = newAuthenticator().create(await startRegistration(own, by))
      own.clock.advance({ seconds: 300 })
      expect(await outcomeOf(await finishRegistration(own, by, credential))).toBe('401 unauthorized')
    })

    it.each(['https://evil.example', 'http://sub.localhost:8787', 'http://localhost:1'])(
      'refuses an answer from a page of %s',
      async (origin) => {
        const by = await signIn()
        const options = await startRegistration(service, by)
        const rp = { ...options.rp, id: new URL(origin).hostname }
        await refused(by, newAuthenticator().create({ ...options, rp }, origin))
      },
    )

    it('refuses an answer from a frame inside another site', async () => {
      const by = await signIn()
      const credential = newAuthenticator().create(await startRegistration(service, by))
      const said = JSON.parse(Buffer.from(credential.response.clientDataJSON, 'base64url').toString()) as object
      const clientDataJSON = Buffer.from(JSON.stringify({ ...said, crossOrigin: true })).toString('base64url')
      await refused(by, { ...credential, response: { ...credential.response, clientDataJSON } })
    })

    it.each([
      ['the user was not verified', { uv: false }],
      ['the user was not present', { up: false }],
    ])('refuses an authenticator that says that %s', async (_name, flags) => {
      const by = await signIn()
      const options = await startRegistration(service, by)
      await refused(by, newAuthenticator(flags).create(options))
    })
  })

  describe('409', () => {
    it('refuses a credential that the account already has', async () => {
      const by = await signIn()
      const authenticator = newAuthenticator()
      const first = await startRegistration(service, by)
      const second = { ...first, challenge: (await startRegistration(service, by)).challenge }
      // The same key for both challenges, as a client could send that ignores `excludeCredentials`.
      const one = authenticator.create(first)
      expect((await finishRegistration(service, by, one)).status).toBe(200)
      const two = withChallenge(one, second.challenge)
      expect(await outcomeOf(await finishRegistration(service, by, two))).toBe('409 conflict')
    })
  })
})

/** Replaces the challenge of a registration. This is possible because without attestation no signature covers it. */
function withChallenge(credential: ReturnType<ReturnType<typeof newAuthenticator>['create']>, challenge: string) {
  const said = JSON.parse(Buffer.from(credential.response.clientDataJSON, 'base64url').toString()) as object
  const clientDataJSON = Buffer.from(JSON.stringify({ ...said, challenge })).toString('base64url')
  return { ...credential, response: { ...credential.response, clientDataJSON } }
}

it('finishPasskeyRegistration refuses a caller who is not signed in', async () => {
  expect(await outcomeOf(await service.fetch(PATH, json(WELL_FORMED)))).toBe('401 unauthorized')
})
