import { afterEach, expect, it, vi } from 'vitest'
import { makeAnswerOrLastKnown } from '../../src/database/last-known.ts'
import { openLedger } from '../../src/gateway/spending/ledger.ts'
import type { OpenLedger } from '../../src/gateway/spending/ledger.ts'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import type { FoundSpending } from '../../src/spending/store.ts'
import { endedCall } from '../support/call-events.ts'
import { limitOf, USD } from '../support/spending-limits.ts'

const NOW = new Date('2026-11-21T12:00:00Z')
const NEEDS = { answerOrLastKnown: makeAnswerOrLastKnown() }
const { caller } = endedCall().call
const costs = (usd: number) => endedCall({ usage: { inputTokens: 1 }, result: { costNanoUsd: usd * USD } })

afterEach(() => void vi.useRealTimers())

/** A ledger with a limit of 10 USD, whose database has what the test says. */
function setUp() {
  const saved = { usd: 0, batches: new Set<string>(), fails: false }
  const failures: unknown[] = []
  const time = { now: NOW }
  const asked: (readonly string[])[] = []
  const askedTeams: (readonly string[])[] = []
  const load = async (teams: readonly string[], batches: readonly string[]): Promise<FoundSpending> => {
    asked.push(batches)
    askedTeams.push(teams)
    if (saved.fails) throw new Error('unavailable')
    const spent = new Map([['limit', { nanoUsd: saved.usd * USD, unknownCalls: 0, unpricedCalls: 0 }]])
    return { limits: [limitOf({ spent })], savedBatches: saved.batches }
  }
  const ledger = openLedger({
    load,
    clock: { now: () => time.now },
    onFailure: (error) => failures.push(error),
    ...NEEDS,
  })
  const spentUsd = async () => ((await ledger.findStates(caller))[0]?.spent.nanoUsd ?? 0) / USD
  return { ledger, saved, failures, time, asked, askedTeams, spentUsd }
}

/** Records a call that costs this many USD, as a batch that is being saved. */
function recordBatch(ledger: OpenLedger, usd: number) {
  const batch = { id: 'batch_1', events: [costs(usd)] }
  batch.events.forEach(ledger.record)
  ledger.noteBatch(batch)
  return batch
}

it('counts each call once, before its batch is saved, meanwhile and after', async () => {
  const { ledger, saved, asked, spentUsd } = setUp()
  expect(await spentUsd()).toBe(0)
  const events: CallEvent[] = [costs(1), costs(2)]
  events.forEach((event) => ledger.record(event))
  ledger.noteBatch({ id: 'batch_1', events })
  ledger.record(costs(4))
  expect(await spentUsd()).toBe(7)

  // The sums are read before the batch is saved, and then with it.
  ledger.expire()
  expect(await spentUsd()).toBe(7)
  Object.assign(saved, { usd: 3, batches: new Set(['batch_1']) })
  ledger.expire()
  expect(await spentUsd()).toBe(7)
  ledger.expire()
  expect(await spentUsd()).toBe(7)
  expect(asked.slice(1)).toEqual([['batch_1'], ['batch_1'], []])
})

it('counts a saved call once, also when the database has forgotten its batch', async () => {
  const { ledger, saved, spentUsd } = setUp()
  await spentUsd()
  const batch = recordBatch(ledger, 3)
  ledger.noteSaved(batch)
  saved.usd = 3
  ledger.expire()
  expect(await spentUsd()).toBe(3)
})

it('counts a call that is saved while the sums are read', async () => {
  const { ledger, saved, spentUsd } = setUp()
  await spentUsd()
  const batch = recordBatch(ledger, 3)
  ledger.expire()
  // The question is asked before the batch is saved.
  const asking = spentUsd()
  ledger.noteSaved(batch)
  expect(await asking).toBe(3)
  saved.usd = 3
  ledger.expire()
  expect(await spentUsd()).toBe(3)
})

it('counts a call whose event is lost, and does not ask for its batch again', async () => {
  const { ledger, saved, asked, spentUsd } = setUp()
  const [kept, lost] = [costs(1), costs(2)]
  for (const event of [kept, lost]) ledger.record(event)
  const batch = { id: 'batch_1', events: [kept, lost] }
  ledger.noteBatch(batch)
  ledger.noteRefused(batch)
  ledger.noteBatch({ id: 'batch_1.1', events: [kept] })
  ledger.noteBatch({ id: 'batch_1.2', events: [lost] })
  ledger.noteRefused({ id: 'batch_1.2', events: [lost] })
  expect(await spentUsd()).toBe(3)

  Object.assign(saved, { usd: 1, batches: new Set(['batch_1.1']) })
  ledger.expire()
  expect(await spentUsd()).toBe(3)
  ledger.expire()
  expect(await spentUsd()).toBe(3)
  expect(asked).toEqual([['batch_1.1'], ['batch_1.1'], []])
})

it('does not ask for batches of calls that cost nothing', async () => {
  const { ledger, asked, spentUsd } = setUp()
  recordBatch(ledger, 0)
  await spentUsd()
  expect(asked).toEqual([[]])
})

it('goes on with the last known sums and its own calls while the database is unavailable', async () => {
  const { ledger, saved, spentUsd } = setUp()
  saved.usd = 9
  expect(await spentUsd()).toBe(9)
  saved.fails = true
  ledger.record(costs(1))
  ledger.expire()
  expect(await spentUsd()).toBe(10)
  expect(await ledger.reserve(caller, () => USD)).toMatchObject({ refused: 'used_up' })
})

it('asks a database that fails no more often than one that answers', async () => {
  const { ledger, saved, asked, spentUsd } = setUp()
  await spentUsd()
  saved.fails = true
  ledger.expire()
  for (let call = 0; call < 3; call++) await spentUsd()
  expect(asked).toHaveLength(2)
})

it('reports the first of several errors in a row', async () => {
  const { ledger, saved, failures, spentUsd } = setUp()
  for (const fails of [false, true, true, true, false, true]) {
    saved.fails = fails
    ledger.expire()
    await spentUsd()
  }
  expect(failures).toEqual([new Error('unavailable'), new Error('unavailable')])
})

it('counts its own calls in a period that begins while the database is unavailable', async () => {
  const { ledger, saved, time, spentUsd } = setUp()
  saved.usd = 10
  expect(await spentUsd()).toBe(10)
  saved.fails = true
  time.now = new Date('2026-12-02T12:00:00Z')
  ledger.expire()
  expect(await spentUsd()).toBe(0)
  const spent = { day: '2026-12-02', nanoUsd: 10 * USD }
  ledger.record(endedCall({ usage: { inputTokens: 1 }, result: { spent } }))
  expect(await ledger.reserve(caller, () => USD)).toMatchObject({ refused: 'used_up' })
})

it('returns what a call has reserved, and asks for no estimate where no limit applies', async () => {
  const { ledger } = setUp()
  const first = await ledger.reserve(caller, () => 9 * USD)
  expect(await ledger.reserve(caller, () => 2 * USD)).toMatchObject({ refused: 'reserved' })
  if (!first || 'refused' in first) throw new Error('The first call was refused.')
  first.release()
  expect(await ledger.reserve(caller, () => 2 * USD)).toHaveProperty('release')
  const other = { ...caller, team: '@acme/other' }
  const estimate = () => expect.unreachable('No limit applies.')
  expect(await ledger.reserve(other, estimate)).toBeNull()
})

it('loads the limits of teams with calls in the last minute only, and those of a new team at once', async () => {
  vi.useFakeTimers()
  const { ledger, askedTeams, spentUsd } = setUp()
  const other = { ...caller, team: '@acme/other' }
  await spentUsd()
  await ledger.findStates(other)
  await spentUsd()
  vi.advanceTimersByTime(50_000)
  await ledger.findStates(other)
  vi.advanceTimersByTime(50_000)
  await ledger.findStates(other)
  await spentUsd()
  const [core, both] = [['@acme/core'], ['@acme/core', '@acme/other']]
  expect(askedTeams.map((teams) => teams.toSorted())).toEqual([core, both, both, ['@acme/other'], both])
})

it('counts the last call of a team that was idle when its batch was saved, without the database', async () => {
  vi.useFakeTimers()
  const { ledger, saved, askedTeams, spentUsd } = setUp()
  await spentUsd()
  vi.advanceTimersByTime(70_000)
  const batch = recordBatch(ledger, 10)
  ledger.noteSaved(batch)
  saved.usd = 10
  await ledger.findStates({ ...caller, team: '@acme/other' })
  expect(askedTeams[1]).toEqual(['@acme/other', '@acme/core'])
  saved.fails = true
  ledger.expire()
  expect(await ledger.reserve(caller, () => USD)).toMatchObject({ refused: 'used_up' })
})

it('knows a limit at the next call that was made while the sums were read', async () => {
  const answers: ((found: FoundSpending) => void)[] = []
  const load = () => new Promise<FoundSpending>((resolve) => void answers.push(resolve))
  const ledger = openLedger({ load, clock: { now: () => NOW }, onFailure: () => undefined, ...NEEDS })
  const first = ledger.findStates(caller)
  ledger.expire()
  answers[0]?.({ limits: [], savedBatches: new Set() })
  expect(await first).toEqual([])

  const second = ledger.findStates(caller)
  answers[1]?.({ limits: [limitOf({})], savedBatches: new Set() })
  expect(await second).toHaveLength(1)
})
