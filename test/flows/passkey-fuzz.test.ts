import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addPasskey, bearer, newAuthenticator, startSignIn } from '../support/passkeys.ts'
import { json } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const RUNS = 1000
let service: TestService
let authorization: string
let whole: object

beforeAll(async () => {
  service = await startService()
  const by = bearer((await service.signIn('ada@example.com')).accessToken)
  authorization = 'authorization' in by ? by.authorization : ''
  const authenticator = newAuthenticator()
  await addPasskey(service, by, authenticator)
  whole = { credential: authenticator.get(await startSignIn(service)) }
})
afterAll(() => service[Symbol.asyncDispose]())

const base64url = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString('base64url'))
const clientData = fc
  .record({ type: fc.string(), challenge: fc.oneof(fc.string(), fc.jsonValue()), origin: fc.string() })
  .map((said) => Buffer.from(JSON.stringify(said)).toString('base64url'))
const wellFormed = (fields: Record<string, fc.Arbitrary<unknown>>) =>
  fc.record({
    credential: fc.record({
      id: base64url,
      rawId: base64url,
      type: fc.constant('public-key'),
      response: fc.record({ clientDataJSON: fc.oneof(base64url, clientData), ...fields }),
    }),
  })
/** A good body with one of its parts replaced by anything. */
const mangled = fc.tuple(fc.nat(9), fc.jsonValue()).map(([index, value]) => {
  type Part = Record<string, unknown>
  const copy = JSON.parse(JSON.stringify(whole)) as Part & { credential: Part & { response: Part } }
  const part: Part = [copy, copy.credential, copy.credential.response][index % 3] ?? copy
  const names = Object.keys(part)
  part[names[index % names.length] ?? 'x'] = value
  return copy
})

it.each([
  [
    '/v1/auth/passkeys/login/finish',
    wellFormed({ authenticatorData: base64url, signature: base64url, userHandle: base64url }),
  ],
  ['/v1/auth/passkeys/register/finish', wellFormed({ attestationObject: base64url })],
])('%s answers garbage with 400 or 401, whatever it is', { timeout: 180_000 }, async (path, almost) => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.jsonValue(), almost, mangled), async (body) => {
      const response = await service.fetch(path, json(body, { authorization }))
      expect([400, 401]).toContain(response.status)
    }),
    { numRuns: RUNS, seed: 42 },
  )
})
