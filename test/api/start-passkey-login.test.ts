import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator } from '../support/passkeys.ts'
import { people } from '../support/people.ts'
import { describeRefusals } from '../support/refusals.ts'
import { bearerOf, expectOk, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/passkeys/login/start'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('startPasskeyLogin', () => {
  describe('200', () => {
    it('answers the same but for the challenge, whether the address is unknown, missing, or has a passkey', async () => {
      const [withOne, without] = [persons.next(), persons.next()]
      await addPasskey(service, bearerOf((await service.signIn(withOne)).accessToken), newAuthenticator())
      const bodies = [{ email: withOne }, { email: without }, { email: 'nobody@example.com' }, {}]
      const answers = await Promise.all(
        bodies.map(async (body) => {
          const text = await (await service.fetch(PATH, json(body))).text()
          return text.replace(/"challenge":"[\w-]{43}"/, '"challenge":"-"')
        }),
      )
      expect(new Set(answers).size).toBe(1)
      expect(JSON.parse(answers[0] ?? '')).toEqual({
        challenge: '-',
        rpId: 'localhost',
        timeout: 300_000,
        userVerification: 'required',
        allowCredentials: [],
      })
    })
  })

  describe('400', () => {
    it('refuses a request without a body, although none of its fields is required', async () => {
      expect(await outcomeOf(await service.fetch(PATH, { method: 'POST' }))).toBe('400 invalid_request')
    })

    it('refuses a text that is not an email address', async () => {
      expect(await outcomeOf(await service.fetch(PATH, json({ email: 'a@b.test, c@d.test' })))).toBe(
        '400 invalid_request',
      )
    })
  })

  describeRefusals({ service: () => service, method: 'POST', path: PATH, by: null, body: {} })

  describe('429', () => {
    it('refuses a network that exceeds the limit of starts, with Retry-After', async () => {
      await using own = await startService({ env: { SVC_LIMIT_STARTS_PER_IP: '2' } })
      await expectOk('A start within the limit', own.fetch(PATH, json({})))
      await expectOk('A start within the limit', own.fetch(PATH, json({})))
      const third = await own.fetch(PATH, json({}))
      expect(await outcomeOf(third)).toBe('429 rate_limited')
      expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(590)
    })
  })
})
