import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountIdOf, eventOf, saveEvents } from '../support/agent-sessions.ts'
import { people, signInBrowser } from '../support/people.ts'
import { bearerOf, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people(4)
const [ada, bob] = [persons.next(), persons.next()]
const team = '@acme/core'
let service: TestService
let accessToken: string

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
  accessToken = (await service.signIn(ada)).accessToken
  const now = service.clock.now()
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)
  const [adas, bobs] = [await accountIdOf(service, ada), await accountIdOf(service, bob)]
  const run = { team, accountId: adas, sessionId: 'run-1' }
  await saveEvents(
    service,
    eventOf('started', run, { at: ago(300), requestId: 'req_1', model: 'svc/old' }),
    eventOf('finished', run, { at: ago(240), requestId: 'req_1', model: 'svc/old' }),
    eventOf('started', run, { at: ago(200), requestId: 'req_2' }),
  )
  await saveEvents(
    service,
    eventOf('failed', run, { at: ago(190), requestId: 'req_2' }),
    // A call that a second backend was asked for is one call.
    eventOf('started', run, { at: ago(180), requestId: 'req_3' }),
    eventOf('started', run, { at: ago(180), requestId: 'req_3' }),
  )
  const bobsRun = { ...run, accountId: bobs }
  await saveEvents(
    service,
    eventOf('started', bobsRun, { at: ago(7200), requestId: 'req_4' }),
    eventOf('finished', bobsRun, { at: ago(600), requestId: 'req_5' }),
  )
  const build = { ...run, accountId: '01939c1e-0000-7000-8000-000000000000', sessionId: 'build' }
  await saveEvents(service, eventOf('finished', build, { at: ago(90_000), service: 'service:ci' }))
  await saveEvents(service, eventOf('started', { ...run, team: '@acme/other', sessionId: 'theirs' }))
})
afterAll(() => service[Symbol.asyncDispose]())

const get = (query: Record<string, string | number> = {}, name = team) =>
  service.clientOf(accessToken).GET('/v1/teams/{team}/sessions', { params: { path: { team: name }, query } })

describe('listAgentSessions', () => {
  describe('200', () => {
    it('lists the sessions of the team, the most recently active first, with sums and running calls', async () => {
      const { data } = await get()
      const minute = (time: string | undefined) => time?.replace(/:\d\d\.\d{3}Z$/, ':00.000Z')
      const [first] = data?.sessions ?? []
      expect(first).toEqual({
        id: 'run-1',
        account: ada,
        model: 'svc/fast',
        calls: 2,
        failedCalls: 1,
        runningCalls: 1,
        tokens: { input: 200, output: 40 },
        startedAt: new Date(service.clock.now().getTime() - 300_000).toISOString(),
        lastActiveAt: minute(new Date(service.clock.now().getTime() - 180_000).toISOString()),
      })
      expect(data?.sessions.map(({ account, id }) => `${account} ${id}`)).toEqual([
        `${ada} run-1`,
        `${bob} run-1`,
        'service:ci build',
      ])
      const ranBackwards = data?.sessions.filter(({ startedAt, lastActiveAt }) => lastActiveAt < startedAt)
      expect(ranBackwards).toEqual([])
      expect(data?.next).toBeNull()
    })

    it('counts no call as running that began more than an hour ago, or that another account makes', async () => {
      const { data } = await get({ account: bob })
      expect(data?.sessions).toMatchObject([{ account: bob, calls: 1, runningCalls: 0 }])
    })

    it.each([
      ['a person, in any case', () => ada.toUpperCase(), 1],
      ['a service account', () => 'service:ci', 1],
      ['an unknown account', () => 'nobody@example.com', 0],
    ])('lists only those of %s', async (_, account, count) => {
      expect((await get({ account: account() })).data?.sessions).toHaveLength(count)
    })

    it('gives each session once over several pages', async () => {
      const ids: string[] = []
      let before: string | null | undefined
      do {
        const { data } = await get({ limit: 1, ...(before && { before }) })
        ids.push(...(data?.sessions ?? []).map(({ account }) => account))
        before = data?.next
      } while (before)
      expect(ids).toEqual([ada, bob, 'service:ci'])
    })

    it('accepts a browser session', async () => {
      const cookie = await signInBrowser(service, persons.next())
      expect((await service.fetch('/v1/teams/%40acme%2Fcore/sessions', { headers: { cookie } })).status).toBe(200)
    })
  })

  describe('400', () => {
    it.each([
      ['a page that no list has named', { before: 'bm90aGluZw' }, '"before"'],
      ['an account that is no address', { account: 'ada' }, '"account"'],
      ['a page of no sessions', { limit: 0 }, 'limit'],
      ['a page that is too long', { limit: 201 }, 'limit'],
    ])('refuses %s', async (_, query, named) => {
      const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
      const headers = bearerOf(accessToken)
      const response = await service.fetch(`/v1/teams/%40acme%2Fcore/sessions?${search}`, { headers })
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(await messageOf(response)).toContain(named)
    })
  })

  describe('401', () => {
    it('refuses a request without a credential', async () => {
      expect(await outcomeOf(await service.fetch('/v1/teams/%40acme%2Fcore/sessions'))).toBe('401 unauthorized')
    })
  })

  describe('404', () => {
    it.each(['@acme/other', '@acme/nothing', 'core'])(
      'does not show the sessions of %s to a stranger',
      async (name) => {
        expect((await get({}, name)).error).toMatchObject({ error: { code: 'not_found' } })
      },
    )
  })
})
