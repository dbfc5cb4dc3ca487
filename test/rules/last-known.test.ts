import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openLiveStates } from '../../src/access/live-states.ts'
import { makeAnswerOrLastKnown } from '../../src/database/last-known.ts'
import { openSnapshotCache, withTeams } from '../../src/directory/snapshot.ts'
import { openLedger } from '../../src/gateway/spending/ledger.ts'
import { endedCall } from '../support/call-events.ts'

beforeEach(
  () => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'Date', 'performance'] }),
)
afterEach(() => void vi.useRealTimers())

/** What `run` resolves with, and after how many milliseconds. */
async function timed<T>(run: () => Promise<T>): Promise<[T, number]> {
  const startedAt = performance.now()
  const ended = run().then((value): [T, number] => [value, performance.now() - startedAt])
  await vi.advanceTimersByTimeAsync(500)
  return ended
}

const hangs = () => new Promise<never>(() => undefined)
const answersAfter = (ms: number) => () => new Promise<string>((resolve) => void setTimeout(resolve, ms, 'new'))
const failsAfter = (ms: number) => () =>
  new Promise<string>((_, reject) => void setTimeout(reject, ms, new Error('The database is unavailable.')))

function open() {
  const answerOrLastKnown = makeAnswerOrLastKnown()
  return { ask: (answer: () => Promise<string>) => timed(() => answerOrLastKnown(answer(), () => 'old')) }
}

describe('an answer of the database whose last known value can be used', () => {
  it.each([
    ['is waited for up to 80 ms', answersAfter(79), ['new', 79]],
    ['is replaced by it after 80 ms', hangs, ['old', 80]],
    ['is replaced by it when the database fails', failsAfter(20), ['old', 20]],
  ])('%s', async (_name, answer, expected) => {
    expect(await open().ask(answer)).toEqual(expected)
  })

  it('is not waited for in the second after a wait that was too long', async () => {
    const { ask } = open()
    expect(await ask(hangs)).toEqual(['old', 80])
    expect(await ask(hangs)).toEqual(['old', 0])
    vi.advanceTimersByTime(1000)
    expect(await ask(hangs)).toEqual(['old', 80])
  })

  it('is waited for again once a late answer has arrived, but not after a late failure', async () => {
    const { ask } = open()
    await ask(failsAfter(200))
    expect(await ask(answersAfter(10))).toEqual(['old', 0])
    await ask(answersAfter(200))
    expect(await ask(answersAfter(10))).toEqual(['new', 10])
  })
})

describe('a call of a known caller', () => {
  it('waits 80 ms in all for its session, the directory and its limits when the database is frozen', async () => {
    const { caller } = endedCall().call
    const database = { isFrozen: false }
    const answer = async <T>(value: T): Promise<T> => (database.isFrozen ? hangs() : value)
    const clock = { now: () => new Date() }
    const needs = { clock, onFailure: () => undefined, answerOrLastKnown: makeAnswerOrLastKnown() }
    const states = openLiveStates({ ...needs, findAlive: (ids) => answer(new Set(ids)) })
    const team = { organization: 'acme', name: 'core', defaultModel: null, timeZone: 'UTC', models: [] }
    const load = () => answer(withTeams([team]))
    const teams = openSnapshotCache({ ...needs, load, onLoad: () => undefined, maxAgeMs: 5000 })
    const ledger = openLedger({ ...needs, load: () => answer({ limits: [], savedBatches: new Set() }) })
    async function call() {
      const known = await states.callerOf(caller.sessionId, () => answer(caller))
      const found = await teams.team('@acme/core')
      const reservation = await ledger.reserve(caller, () => 1)
      return { isKnown: known === caller, team: found?.name, reservation }
    }

    const admitted = { isKnown: true, team: 'core', reservation: null }
    expect(await timed(call)).toEqual([admitted, 0])
    vi.advanceTimersByTime(10_000)
    database.isFrozen = true
    expect(await timed(call)).toEqual([admitted, 80])
    expect(await timed(call)).toEqual([admitted, 0])
  })
})
