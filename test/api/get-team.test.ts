import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people, signInBrowser } from '../support/people.ts'
import { bearerOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({
    directory: persons.directory,
    env: { SVC_GATEWAY_URL: 'https://models.example.com/gw/' },
  })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('getTeam', () => {
  const CORE = {
    team: '@acme/core',
    organization: 'acme',
    name: 'core',
    endpoint: 'https://models.example.com/gw',
    defaultModel: 'svc/fast',
  }

  describe('200', () => {
    it('returns the team of the caller with the base URL of its gateway', async () => {
      const { accessToken } = await service.signIn(persons.next())
      const { data } = await service.clientOf(accessToken).GET('/v1/teams/{team}', {
        params: { path: { team: '@acme/core' } },
      })
      expect(data).toEqual(CORE)
    })

    it('accepts a browser session', async () => {
      const cookie = await signInBrowser(service, persons.next())
      const response = await service.fetch('/v1/teams/%40acme%2Fcore', { headers: { cookie } })
      expect(await response.json()).toEqual(CORE)
    })

    it('returns null for a team without a default model', async () => {
      const { accessToken } = await service.signIn('stranger@example.com')
      const { data } = await service.clientOf(accessToken).GET('/v1/teams/{team}', {
        params: { path: { team: '@acme/other' } },
      })
      expect(data?.defaultModel).toBeNull()
    })
  })

  describe('401', () => {
    it('refuses a request without a valid credential', async () => {
      const response = await service.fetch('/v1/teams/%40acme%2Fcore')
      expect(await outcomeOf(response)).toBe('401 unauthorized')
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
    })
  })

  describe('404', () => {
    it.each([
      ['that the caller is not a member of', '%40acme%2Fother'],
      ['that does not exist', '%40acme%2Fnothing'],
      ['of an unknown organization', '%40nobody%2Fcore'],
      ['with an invalid name', 'core'],
      ['in upper case', '%40ACME%2Fcore'],
      ['with NUL in its name', '%40acme%2Fco%00re'],
      ['with bytes that are not UTF-8', '%E0%A4%A'],
      ['with an incomplete percent-encoding', '%4'],
    ])('knows no team %s', async (_, team) => {
      const { accessToken } = await signedInOnce()
      const response = await service.fetch(`/v1/teams/${team}`, { headers: bearerOf(accessToken) })
      expect(await outcomeOf(response)).toBe('404 not_found')
    })

    let once: ReturnType<TestService['signIn']> | undefined
    const signedInOnce = () => (once ??= service.signIn(persons.next()))
  })
})
