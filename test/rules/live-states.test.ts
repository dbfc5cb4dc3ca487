import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openLiveStates } from '../../src/access/live-states.ts'
import { makeAnswerOrLastKnown } from '../../src/database/last-known.ts'
import type { Caller } from '../../src/kernel/caller.ts'

const CHECK_EVERY_MS = 2000

const CALLER: Caller = {
  ...{ accountId: 'account-1', sessionId: 'session-1', sessionKind: 'device' },
  ...{ organization: 'acme', team: '@acme/core', role: 'member', authenticatedAt: null },
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Watches one session. Each question to the database waits until the test answers it. */
function watchOne() {
  const asked: ((alive: readonly string[]) => void)[] = []
  const findAlive = () => new Promise<Set<string>>((resolve) => void asked.push((alive) => resolve(new Set(alive))))
  const states = openLiveStates({ findAlive, answerOrLastKnown: makeAnswerOrLastKnown() })
  const onEnd = vi.fn()
  states.watch('session-1', onEnd)
  return { states, asked, onEnd }
}

describe('the sessions of open streams', () => {
  it('are checked by one query at a time, also when the database is slow', async () => {
    const { asked } = watchOne()
    await vi.advanceTimersByTimeAsync(5 * CHECK_EVERY_MS)
    expect(asked.length).toBe(1)
    asked[0]?.(['session-1'])
    await vi.advanceTimersByTimeAsync(CHECK_EVERY_MS)
    expect(asked.length).toBe(2)
  })

  it('are ended once by the answer that does not name them', async () => {
    const { states, asked, onEnd } = watchOne()
    await vi.advanceTimersByTimeAsync(CHECK_EVERY_MS)
    asked[0]?.([])
    await vi.advanceTimersByTimeAsync(5 * CHECK_EVERY_MS)
    states.end('session-1')
    expect(onEnd).toHaveBeenCalledTimes(1)
  })
})

it('a caller is found whose state was forgotten during the query, because there were too many others', async () => {
  const states = openLiveStates({ findAlive: async () => new Set(), answerOrLastKnown: makeAnswerOrLastKnown() })
  const asked = Promise.withResolvers<typeof CALLER>()
  const found = states.callerOf('session-1', () => asked.promise)
  for (let other = 0; other < 20_000; other++) states.remember(`other-${other}`, CALLER, 0)
  asked.resolve(CALLER)
  expect(await found).toBe(CALLER)
})

it('a caller whose session ends while the database does not answer is refused', async () => {
  const states = openLiveStates({ findAlive: async () => new Set(), answerOrLastKnown: makeAnswerOrLastKnown() })
  states.remember('session-1', CALLER, performance.now())
  await vi.advanceTimersByTimeAsync(5000)
  const found = states.callerOf('session-1', () => new Promise(() => undefined))
  states.end('session-1')
  await vi.advanceTimersByTimeAsync(100)
  expect(await found).toBeNull()
})
