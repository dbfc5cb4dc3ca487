import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { makeAccessWatch } from '../../src/control/agent-sessions/access.ts'

const ACCESS = { accountId: 'account', sessionId: 'session', sessionKind: 'browser', team: '@acme/core' } as const

/** Watches one follower, and returns how often it was told that its access has ended. */
function watchOne({ alive = true, isMember = true, isAway = false }) {
  const none = () => Promise.resolve(new Set<string>())
  const findBrowsers = (ids: readonly string[]) =>
    isAway ? Promise.reject(new Error('No database.')) : Promise.resolve(new Set(alive ? ids : []))
  const watch = makeAccessWatch({
    findAlive: { device: none, browser: findBrowsers, api_key: none },
    findTeamsOf: (ids) => Promise.resolve(isMember ? ids.map((id) => [id, '@acme/core'] as const) : []),
  })
  const onEnd = vi.fn()
  const stop = watch.watch(ACCESS, onEnd)
  return { onEnd, stop, [Symbol.dispose]: () => watch.close() }
}

describe('the access of a follower', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each([
    ['goes on while its sign-in is alive and its account is a member', {}, 0],
    ['ends once when its sign-in has ended', { alive: false }, 1],
    ['ends once when its account has left the team', { isMember: false }, 1],
    ['goes on while the database cannot be reached', { alive: false, isAway: true }, 0],
  ])('%s', async (_, given, times) => {
    using watched = watchOne(given)
    await vi.advanceTimersByTimeAsync(5000)
    expect(watched.onEnd).toHaveBeenCalledTimes(times)
  })

  it('is watched no longer after the stream has ended', async () => {
    using watched = watchOne({ alive: false })
    watched.stop()
    await vi.advanceTimersByTimeAsync(5000)
    expect(watched.onEnd).not.toHaveBeenCalled()
  })
})
