import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openCondition } from '../../src/gateway/backends/condition.ts'
import type { Outcome } from '../../src/gateway/exchange/outcome.ts'
import { testClock } from '../support/clock.ts'
import { UNREACHABLE } from '../support/outcomes.ts'

const PROBE_EVERY_MS = 15_000

describe('a backend that cannot be reached', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A condition whose probes take `probeMs` and fail. */
  function opened(probeMs = 0) {
    const canConnect = vi.fn(() => new Promise<boolean>((resolve) => setTimeout(() => resolve(false), probeMs)))
    const condition = openCondition({ canConnect, random: () => 0.5, clock: testClock() })
    return { condition, canConnect }
  }

  it('is probed every 15 seconds', async () => {
    const { condition, canConnect } = opened()
    condition.noteEnd('large', UNREACHABLE)
    await vi.advanceTimersByTimeAsync(2 * PROBE_EVERY_MS + 1000)
    expect([condition.isReachable(), canConnect.mock.calls.length]).toEqual([false, 2])
  })

  it('is not probed after it was closed, also when a running call fails then', async () => {
    const { condition, canConnect } = opened()
    condition.noteEnd('large', UNREACHABLE)
    condition.close()
    condition.noteEnd('large', UNREACHABLE)
    await vi.advanceTimersByTimeAsync(10 * PROBE_EVERY_MS)
    expect(canConnect).not.toHaveBeenCalled()
  })

  it('counts as reached when an answer begins, before its stream ends', () => {
    const { condition } = opened()
    condition.noteEnd('large', UNREACHABLE)
    condition.noteAnswer('large', condition.noteStart('large'))
    expect(condition.isReachable()).toBe(true)
  })

  it('has one series of probes, also when a call reached it during a probe', async () => {
    const { condition, canConnect } = opened(10_000)
    condition.noteEnd('large', UNREACHABLE)
    await vi.advanceTimersByTimeAsync(PROBE_EVERY_MS)
    condition.noteAnswer('large', condition.noteStart('large'))
    condition.noteEnd('large', UNREACHABLE)
    await vi.advanceTimersByTimeAsync(3 * (PROBE_EVERY_MS + 10_000))
    expect(canConnect).toHaveBeenCalledTimes(1 + 3)
  })
})

describe('a backend that breaks off its streams', () => {
  const CUT: Outcome = { ...UNREACHABLE, kind: 'cut', answered: true, status: 200 }

  it.each([
    ['ended_early', 'open'],
    ['reported', 'closed'],
  ])('with the reason %s has a breaker that is %s', (reason, breaker) => {
    const condition = openCondition({ canConnect: null, random: () => 0.5, clock: testClock() })
    for (let call = 0; call < 10; call++) condition.noteEnd('large', { ...CUT, reason })
    expect(condition.show().breaker).toBe(breaker)
  })
})

it('a backend that fails now and then among calls that work has a breaker that stays closed', () => {
  const condition = openCondition({ canConnect: null, random: () => 0.5, clock: testClock() })
  const works: Outcome = { ...UNREACHABLE, kind: 'whole', answered: true, isSent: true, status: 200, reason: null }
  for (let call = 0; call < 10; call++) {
    condition.noteEnd('large', { ...works, status: 529 })
    condition.noteEnd('large', works)
  }
  expect(condition.show().breaker).toBe('closed')
})

it('a backend that limits the calls of one model has a closed breaker, and others are asked first for that model', () => {
  const condition = openCondition({ canConnect: null, random: () => 0.5, clock: testClock() })
  const limited: Outcome = { ...UNREACHABLE, kind: 'whole', isSent: true, status: 429, reason: null }
  for (let call = 0; call < 5; call++) condition.noteEnd('large', limited)
  expect([condition.isTripped('large'), condition.isTripped('small')]).toEqual([true, false])
  expect(condition.show()).toMatchObject({ breaker: 'closed', lastError: { result: '429' } })
  condition.noteAnswer('large', condition.noteStart('large'))
  expect(condition.isTripped('large')).toBe(false)
})

it('a backend that answers 404 shows that until a call succeeds, and has a closed breaker', () => {
  const condition = openCondition({ canConnect: null, random: () => 0.5, clock: testClock() })
  const ended: Outcome = { ...UNREACHABLE, kind: 'whole', isSent: true, status: 404, reason: null }
  for (let call = 0; call < 10; call++) {
    condition.noteEnd('large', ended)
    condition.noteNotFound()
  }
  expect(condition.show()).toMatchObject({ breaker: 'closed', lastError: { result: '404' } })
  condition.noteEnd('large', { ...ended, status: 200 })
  expect(condition.show().lastError).toBeNull()
})
