import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { openSessionReader } from '../../src/control/agent-sessions/reader.ts'
import type { Follower } from '../../src/control/agent-sessions/reader.ts'
import type { StoredEvent } from '../../src/control/agent-sessions/rules.ts'
import type { SessionPosition } from '../../src/control/agent-sessions/store.ts'
import type { OnNotice } from '../../src/database/client.ts'
import { sessionKeyOf } from '../../src/kernel/agent-session.ts'

const run = { team: '@acme/core', accountId: 'account-1', sessionId: 'run-1' }
const otherRun = { ...run, sessionId: 'run-2' }

/** A reader on a table that the test fills, with the queries that it made. */
function setUp() {
  const rows: { sessionId: string; id: bigint }[] = []
  const queries: string[][] = []
  const state = { fault: null as Error | null, isConnected: true, failures: 0, checks: 0 }
  let notify: OnNotice = () => undefined
  const reader = openSessionReader({
    async findEvents(positions: readonly SessionPosition[], limit) {
      queries.push(positions.map(({ sessionId, after }) => `${sessionId}>${after}`))
      if (state.fault) throw state.fault
      return positions.map(({ sessionId, after }) =>
        rows
          .filter((row) => row.sessionId === sessionId && row.id > after)
          .slice(0, limit)
          // The reader uses nothing else of an event.
          .map(({ id }) => ({ id }) as StoredEvent),
      )
    },
    async findNewestId() {
      state.checks += 1
      return rows.at(-1)?.id ?? 0n
    },
    listen(onNotice) {
      notify = onNotice
      return { isConnected: () => state.isConnected, close: () => undefined }
    },
    onFailure: () => void (state.failures += 1),
  })
  const add = (sessionId: string, count = 1) => {
    for (let n = 0; n < count; n++) rows.push({ sessionId, id: BigInt(rows.length + 1) })
  }
  const announce = (...sessions: (typeof run)[]) => notify(sessions.map(sessionKeyOf).join(' '))
  const follow = (session = run, after = 0n) => {
    const seen: number[] = []
    const reading = { isReady: true }
    const take: Follower['take'] = (events) => {
      seen.push(...events.map(({ id }) => Number(id)))
      return reading.isReady
    }
    return { seen, reading, ...reader.follow({ session, after, take }) }
  }
  return { queries, state, add, announce, follow, reader, interrupt: () => notify(null) }
}

const settled = () => vi.advanceTimersByTimeAsync(0)

describe('the reader of session events', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('sends what is stored behind the position, and each event that is announced, once', async () => {
    const { add, announce, follow } = setUp()
    add('run-1', 3)
    const { seen } = follow(run, 1n)
    await settled()
    expect(seen).toEqual([2, 3])
    add('run-1')
    announce(run)
    announce(run)
    await settled()
    expect(seen).toEqual([2, 3, 4])
  })

  it('reads more than one page for a follower that is far behind', async () => {
    const { add, follow } = setUp()
    add('run-1', 250)
    const { seen } = follow()
    await settled()
    expect(seen).toEqual(Array.from({ length: 250 }, (_, index) => index + 1))
  })

  it('reads once for all followers at the same position, and nothing for sessions that were not announced', async () => {
    const { queries, add, announce, follow } = setUp()
    const followers = Array.from({ length: 500 }, () => follow())
    follow(otherRun)
    await settled()
    queries.length = 0
    add('run-1')
    announce(run)
    await settled()
    expect(queries).toEqual([['run-1>0']])
    expect(followers.every(({ seen }) => seen.length === 1)).toBe(true)
  })

  it('reads nothing for a follower that does not take more, until it resumes', async () => {
    const { queries, add, announce, follow } = setUp()
    add('run-1', 150)
    const slow = follow()
    slow.reading.isReady = false
    await settled()
    expect(slow.seen).toHaveLength(100)
    queries.length = 0
    announce(run)
    await settled()
    expect(queries).toEqual([])
    slow.reading.isReady = true
    slow.resume()
    await settled()
    expect(slow.seen).toHaveLength(150)
  })

  it('finds events that no notification announces: after a second, or after five while notifications arrive', async () => {
    const { state, add, announce, follow } = setUp()
    const { seen } = follow()
    await vi.advanceTimersByTimeAsync(5000)
    add('run-1')
    announce(run)
    await vi.advanceTimersByTimeAsync(5000)
    add('run-1')
    await vi.advanceTimersByTimeAsync(3900)
    expect(seen).toEqual([1])
    await vi.advanceTimersByTimeAsync(1100)
    expect(seen).toEqual([1, 2])
    // That one came without a notification, so the next one is looked for at once.
    add('run-1')
    await vi.advanceTimersByTimeAsync(1000)
    expect(seen).toEqual([1, 2, 3])
    state.isConnected = false
    add('run-1')
    await vi.advanceTimersByTimeAsync(1000)
    expect(seen).toEqual([1, 2, 3, 4])
  })

  it('reads everything again when notifications may have been missed', async () => {
    const { add, follow, interrupt } = setUp()
    const { seen } = follow()
    await settled()
    add('run-1')
    interrupt()
    await settled()
    expect(seen).toEqual([1])
  })

  it('tries again every second while the database fails, and reports the first failure only', async () => {
    const { state, add, follow } = setUp()
    state.fault = new Error('gone')
    add('run-1')
    const { seen } = follow()
    await vi.advanceTimersByTimeAsync(3000)
    expect([seen, state.failures]).toEqual([[], 1])
    state.fault = null
    await vi.advanceTimersByTimeAsync(1000)
    expect(seen).toEqual([1])
  })

  it('does not try again for a follower that has left during a failed query', async () => {
    const { queries, state, follow } = setUp()
    state.fault = new Error('unavailable')
    follow().stop()
    await vi.advanceTimersByTimeAsync(3000)
    expect(queries).toHaveLength(1)
  })

  it('asks the database nothing without followers', async () => {
    const { queries, state, follow } = setUp()
    const { stop } = follow()
    await settled()
    stop()
    queries.length = 0
    state.checks = 0
    await vi.advanceTimersByTimeAsync(60_000)
    expect([queries, state.checks]).toEqual([[], 0])
  })
})
