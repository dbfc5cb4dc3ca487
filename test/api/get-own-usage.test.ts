import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UsageReport } from '../../generated/openapi.ts'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { endedCall } from '../support/call-events.ts'
import { outcomeOf } from '../support/requests.ts'
import { startTeam } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

const PERIOD = 'from=2026-11-20&to=2026-11-21'

let team: TestTeam
beforeAll(async () => {
  team = await startTeam()
  const { prisma } = team.service.database
  const { id: accountId } = await prisma.account.findUniqueOrThrow({ where: { email: 'member@example.com' } })
  const call = { accountId, usage: { inputTokens: 20, outputTokens: 2 }, result: { costNanoUsd: 5000 } }
  await makeCallEventStore(team.service.database).save({
    id: 'batch_1',
    events: [endedCall(call), endedCall({ ...call, team: '@acme/other' }), endedCall()],
  })
})
afterAll(() => team[Symbol.asyncDispose]())

const own = async (query: string) => (await (await team.asMember(`/v1/usage?${query}`)).json()) as UsageReport

describe('getOwnUsage', () => {
  describe('200', () => {
    it('adds up the calls of the caller in the team of its session', async () => {
      const found = await own(`${PERIOD}&by=model`)
      expect(found).toMatchObject({
        team: '@acme/core',
        rows: [{ id: 'vendora/large', name: null, calls: 1, inputTokens: 20, costNanoUsd: 5000 }],
        total: { calls: 1, outputTokens: 2, costNanoUsd: 5000 },
      })
      expect((await own(`${PERIOD}&by=key`)).rows).toMatchObject([{ id: null, calls: 1 }])
    })

    it('is a table where the caller prefers one', async () => {
      const headers = { accept: 'text/csv, application/json;q=0.5' }
      const response = await team.asMember(`/v1/usage?${PERIOD}`, { headers })
      expect((await response.text()).split('\r\n')).toHaveLength(3)
    })
  })

  describe('400', () => {
    it('refuses a day that does not exist', async () => {
      expect(await outcomeOf(await team.asMember('/v1/usage?to=2026-13-01'))).toBe('400 invalid_request')
    })
  })

  describe('401', () => {
    it('refuses a caller without a credential', async () => {
      expect(await outcomeOf(await team.service.fetch('/v1/usage'))).toBe('401 unauthorized')
    })
  })
})
