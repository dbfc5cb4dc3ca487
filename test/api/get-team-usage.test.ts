import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { UsageReport } from '../../generated/openapi.ts'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { endedCall } from '../support/call-events.ts'
import { outcomeOf } from '../support/requests.ts'
import { startTeam } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

const PATH = '/v1/teams/%40acme%2Fcore/usage'
const PERIOD = 'from=2026-11-20&to=2026-11-21'
const GONE = '01939c1e-9999-7c3d-8e4f-0a1b2c3d4e5f'
const KEY = { id: '01939c1e-0000-7c3d-8e4f-0a1b2c3d4e5f', models: null, serviceAccount: null }

let team: TestTeam
let ada: string
let member: string
beforeAll(async () => {
  team = await startTeam()
  const { prisma } = team.service.database
  const accounts = new Map((await prisma.account.findMany()).map(({ email, id }) => [email, id]))
  ada = accounts.get('ada@example.com') ?? ''
  member = accounts.get('member@example.com') ?? ''
  const { save } = makeCallEventStore(team.service.database)
  const cheap = { usage: { inputTokens: 10, outputTokens: 1 }, result: { costNanoUsd: 100 } }
  const dear = { usage: { inputTokens: 20, cacheReadTokens: 5, outputTokens: 2 }, result: { costNanoUsd: 5000 } }
  await save({
    id: 'batch_1',
    events: [
      endedCall({ ...cheap, accountId: ada, at: '2026-11-20T10:00:00Z' }),
      endedCall({ ...cheap, accountId: ada, key: KEY }),
      endedCall({
        ...dear,
        accountId: member,
        call: { model: 'svc/fast', servedBy: 'local-engine', dialect: 'messages' },
      }),
      endedCall({ accountId: GONE, usage: { inputTokens: 1 } }),
      endedCall({ ...dear, accountId: ada, team: '@acme/other' }),
      endedCall({ ...dear, accountId: ada, at: '2026-11-19T23:59:59Z' }),
      endedCall({ ...dear, accountId: ada, at: '2026-10-01T10:00:00Z', kind: 'retried' }),
    ],
  })
})
afterAll(() => team[Symbol.asyncDispose]())

const report = async (query: string): Promise<UsageReport> =>
  (await (await team.asAdmin(`${PATH}?${query}`)).json()) as UsageReport

const addUp = (counts: readonly number[]) => counts.reduce((sum, count) => sum + count, 0)

const shown = ({ rows }: UsageReport) => rows.map(({ id, name, calls, costNanoUsd }) => [id, name, calls, costNanoUsd])

describe('getTeamUsage', () => {
  describe('200', () => {
    it('adds up what the calls of the team used in the period', async () => {
      expect(await report(`${PERIOD}&by=day`)).toMatchObject({
        team: '@acme/core',
        from: '2026-11-20',
        to: '2026-11-21',
        by: 'day',
        truncated: false,
        total: {
          calls: 4,
          failedCalls: 0,
          unpricedCalls: 1,
          inputTokens: 41,
          cacheReadTokens: 5,
          cacheWriteTokens: 0,
          outputTokens: 4,
          costNanoUsd: 5200,
        },
      })
    })

    it('has a row for a backend that was paid for an attempt of a call that another backend served', async () => {
      expect(shown(await report('from=2026-10-01&to=2026-10-01&by=backend'))).toEqual([['vendora', null, 0, 5000]])
    })

    it.each<[string, () => unknown[][]]>([
      [
        'day',
        () => [
          ['2026-11-20', null, 1, 100],
          ['2026-11-21', null, 3, 5100],
        ],
      ],
      [
        'model',
        () => [
          ['svc/fast', null, 1, 5000],
          ['vendora/large', null, 3, 200],
        ],
      ],
      [
        'member',
        () => [
          [member, 'member@example.com', 1, 5000],
          [ada, 'ada@example.com', 2, 200],
          // The account was deleted.
          [GONE, null, 1, null],
        ],
      ],
      [
        'key',
        () => [
          [null, null, 3, 5100],
          [KEY.id, null, 1, 100],
        ],
      ],
      [
        'backend',
        () => [
          ['local-engine', null, 1, 5000],
          ['vendora', null, 3, 200],
        ],
      ],
      [
        'dialect',
        () => [
          ['messages', null, 1, 5000],
          ['chat', null, 3, 200],
        ],
      ],
    ])('lists it by %s, the most expensive first', async (by, rows) => {
      expect(shown(await report(`${PERIOD}&by=${by}`))).toEqual(rows())
    })

    it.each([
      ['of a few days', PERIOD, 4],
      ['of most of a month', 'from=2026-11-02&to=2026-11-20', 2],
      ['of whole months', 'from=2026-10-01&to=2026-11-30', 5],
    ])('adds the calls %s up to the same total by each grouping', async (_, period, calls) => {
      const { total } = await report(`${period}&by=day`)
      expect(total.calls).toBe(calls)
      for (const by of ['model', 'member', 'key', 'backend', 'dialect']) {
        const one = await report(`${period}&by=${by}`)
        expect([by, one.total]).toEqual([by, total])
        expect([by, addUp(one.rows.map(({ outputTokens }) => outputTokens))]).toEqual([by, total.outputTokens])
      }
    })

    it('leaves out members whose calls are all on days of the month that are not in the period', async () => {
      const rows = shown(await report('from=2026-11-02&to=2026-11-20&by=member'))
      expect(rows).toEqual([[ada, 'ada@example.com', 2, 5100]])
    })

    it('covers this month without a period, by day', async () => {
      const { from, to, by, total } = await report('')
      expect(from).toMatch(/^\d{4}-\d{2}-01$/)
      expect([to.slice(0, 8), by, typeof total.calls]).toEqual([from.slice(0, 8), 'day', 'number'])
    })

    it('is empty for a period without calls, with an unknown cost', async () => {
      expect(await report('from=2026-01-01&to=2026-01-31')).toMatchObject({
        rows: [],
        total: { calls: 0, costNanoUsd: null },
      })
    })

    it('is a table where the caller prefers one', async () => {
      const response = await team.asAdmin(`${PATH}?${PERIOD}&by=model`, { headers: { accept: 'text/csv' } })
      expect(response.headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(response.headers.get('content-disposition')).toBe(
        'attachment; filename=usage-acme-core-2026-11-20-2026-11-21.csv',
      )
      const [heading, first] = (await response.text()).split('\r\n')
      expect(heading).toMatch(/^model,name,calls,/)
      expect(first).toBe('svc/fast,,1,0,0,0,0,20,5,0,0,2,0,0.000005000')
    })
  })

  describe('400', () => {
    it.each([
      ['a day that does not exist', 'from=2026-02-31'],
      ['days in reverse', 'from=2026-11-21&to=2026-11-20'],
      ['more than a year', 'from=2020-01-01'],
      ['an unknown grouping', 'by=color'],
      ['two days for one', 'from=2026-11-01&from=2026-11-02'],
    ])('refuses %s', async (_, query) => {
      expect(await outcomeOf(await team.asAdmin(`${PATH}?${query}`))).toBe('400 invalid_request')
    })
  })

  describe('401, 403, 404', () => {
    it('refuses members, and hides the team from other accounts', async () => {
      expect(await outcomeOf(await team.service.fetch(PATH))).toBe('401 unauthorized')
      expect(await outcomeOf(await team.asMember(PATH))).toBe('403 forbidden')
      expect(await outcomeOf(await team.asStranger(PATH))).toBe('404 not_found')
      expect(await outcomeOf(await team.asAdmin('/v1/teams/%40acme%2Fnone/usage'))).toBe('404 not_found')
    })
  })

  it('shows at most 1,000 rows, and counts all of them', async () => {
    const models = Array.from({ length: 1001 }, (_, at) => `m/${at}`)
    const events = models.map((model) => endedCall({ at: '2026-09-01T00:00:00Z', call: { model } }))
    await makeCallEventStore(team.service.database).save({ id: 'batch_many', events })
    const { rows, truncated, total } = await report('from=2026-09-01&to=2026-09-01&by=model')
    expect([rows.length, truncated, total.calls]).toEqual([1000, true, 1001])
  })
})
