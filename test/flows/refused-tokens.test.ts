import { afterAll, beforeAll, expect, it } from 'vitest'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
})
afterAll(() => service[Symbol.asyncDispose]())

/** A route of the gateway, one of the control plane, and one whose refusal says where to sign in. */
const ROUTES = ['/v1/models', '/v1/teams/%40acme%2Fcore', '/device']

async function refusalsOf(token: string | null) {
  const headers: Record<string, string> = token === null ? {} : bearerOf(token)
  return Promise.all(
    ROUTES.map(async (path) => {
      const response = await service.fetch(path, { headers })
      const { error } = (await response.json()) as { error: { message: string } }
      return { status: response.status, challenge: response.headers.get('www-authenticate'), message: error.message }
    }),
  )
}

const tokenOf = async (deviceId: string) => (await service.signIn('ada@example.com', { deviceId })).accessToken

it('names an expired token, and how to get a fresh one', async () => {
  const token = await tokenOf('expires')
  service.clock.advance({ seconds: 901 })
  for (const { status, challenge, message } of await refusalsOf(token)) {
    expect([status, message]).toEqual([401, expect.stringMatching(/^The access token has expired\..*svc token/)])
    expect(challenge).toBe(`Bearer error="invalid_token", error_description="${message}"`)
  }
})

it('names a revoked token, also when it has been used before', async () => {
  const token = await tokenOf('revoked')
  expect((await service.clientOf(token).GET('/v1/models')).response.status).toBe(200)
  await service.clientOf(token).POST('/v1/auth/logout')
  for (const { challenge, message } of await refusalsOf(token)) {
    expect(message).toMatch(/^The access token was revoked: .* Sign in again\.$/)
    expect(challenge).toContain('error="invalid_token"')
  }
})

it.each([
  ['made up', () => 'wrong'],
  ['of another service', () => 'eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCIsImtpZCI6IngifQ.eyJzdWIiOiIxIn0.c2ln'],
  ['of an expired session, with another signature', async () => `${(await tokenOf('cut')).slice(0, -8)}AAAAAAAA`],
])('says of a token that is %s only that it is not known', async (_name, make) => {
  const refusals = await refusalsOf(await make())
  expect(new Set(refusals.map(({ message }) => message.slice(0, 29)))).toEqual(
    new Set(['This token is not known here.']),
  )
})

it.each(['/v1/models', '/device'])(
  'lets clients repeat a request to %s only when its token has expired',
  async (path) => {
    const retryOf = async (token: string) => {
      const response = await service.fetch(path, { headers: bearerOf(token) })
      return response.headers.get('x-should-retry')
    }
    const token = await tokenOf('retries')
    service.clock.advance({ seconds: 901 })
    expect([await retryOf(token), await retryOf('wrong')]).toEqual([null, 'false'])
  },
)

it('has a challenge without an error where no token was sent', async () => {
  expect((await refusalsOf(null)).map(({ challenge }) => challenge)).toEqual(['Bearer', 'Bearer', 'Bearer'])
})

it.each([
  ['/v1/models', 'svc keys create'],
  ['/vendorb/v1/models', 'svc keys create'],
  ['/v1/teams/%40acme%2Fcore', 'Send an access token'],
])('says what to send where nothing was sent: %s', async (path, words) => {
  const response = await service.fetch(path)
  expect([response.status, await response.text()]).toEqual([401, expect.stringContaining(words)])
})

it('explains a token in x-api-key too', async () => {
  const token = await tokenOf('x-api-key')
  service.clock.advance({ seconds: 901 })
  const response = await service.fetch('/vendorb/v1/models', { headers: { 'x-api-key': token } })
  expect(response.headers.get('www-authenticate')).toContain('The access token has expired.')
  expect(await outcomeOf(response)).toBe('401 unauthorized')
})

it('says in which header to send a token that is in x-api-key of another route', async () => {
  const token = await tokenOf('wrong-header')
  const response = await service.fetch('/v1/models', { headers: { 'x-api-key': token } })
  expect(response.headers.get('www-authenticate')).toBe('Bearer')
  expect(await response.json()).toMatchObject({
    error: { message: 'Send an access token to this route as Authorization: Bearer, not as x-api-key.' },
  })
})
