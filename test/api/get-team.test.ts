import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people, signInBrowser } from '../support/people.ts'
import { outcomeOf } from '../support/requests.ts'
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
    it('says where the gateway of the caller’s team is', async () => {
      const { accessToken } = await service.signIn(persons.next())
      const { data } = await service.clientOf(accessToken).GET('/v1/teams/{team}', {
        params: { path: { team: '@acme/core' } },
      })
      expect(data).toEqual(CORE)
    })

    it('takes a browser session', async () => {
      const cookie = await signInBrowser(service, persons.next())
      const response = await service.fetch('/v1/teams/%40acme%2Fcore', { headers: { cookie } })
      expect(await response.json()).toEqual(CORE)
    })

    it('says that a team has no default model', async () => {
      const { accessToken } = await service.signIn('stranger@example.com')
      const { data } = await service.clientOf(accessToken).GET('/v1/teams/{team}', {
        params: { path: { team: '@acme/other' } },
      })
      expect(data?.defaultModel).toBeNull()
    })
  })

  describe('401', () => {
    it('wants a credential', async () => {
      const response = await service.fetch('/v1/teams/%40acme%2Fcore')
      expect(await outcomeOf(response)).toBe('401 unauthorized')
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
    })
  })

  describe('404', () => {
    it.each([
      ['of which the caller is no member', '%40acme%2Fother'],
      ['that does not exist', '%40acme%2Fnothing'],
      ['of no organization', '%40nobody%2Fcore'],
      ['whose name is none', 'core'],
      ['in other letters', '%40ACME%2Fcore'],
      ['with NUL in its name', '%40acme%2Fco%00re'],
      ['in bytes that are no text', '%E0%A4%A'],
      ['that is named by half an escape', '%4'],
    ])('knows no team %s', async (_, team) => {
      const { accessToken } = await signedInOnce()
      const response = await service.fetch(`/v1/teams/${team}`, { headers: { authorization: `Bearer ${accessToken}` } })
      expect(await outcomeOf(response)).toBe('404 not_found')
    })

    let once: ReturnType<TestService['signIn']> | undefined
    const signedInOnce = () => (once ??= service.signIn(persons.next()))
  })
})
