import { afterEach, describe, expect, it, vi } from 'vitest'
import { openLastSeen } from '../../src/access/last-seen.ts'
import type { Use } from '../../src/access/last-seen.ts'
import { testClock } from '../support/clock.ts'

const FLUSH_MS = 3_600_000

afterEach(() => void vi.useRealTimers())

function open(save?: (uses: readonly Use[]) => Promise<void>) {
  const saved: (readonly Use[])[] = []
  const clock = testClock()
  const silent = () => undefined
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  const lastSeen = openLastSeen({
    save: save ?? (async (uses) => void saved.push(uses)),
    clock,
    log,
    flushMs: FLUSH_MS,
  })
  return { lastSeen, clock, saved }
}

describe('openLastSeen', () => {
  it('notes a session once a minute, and asks for the address only then', async () => {
    const { lastSeen, clock, saved } = open()
    let asked = 0
    const ipOf = () => `203.0.113.${++asked}`
    const first = clock.now()
    for (let count = 0; count < 1000; count++) lastSeen.note('a', ipOf)
    clock.advance({ seconds: 59, ms: 999 })
    lastSeen.note('a', ipOf)
    await lastSeen.close()
    expect(saved).toEqual([[{ id: 'a', at: first, ip: '203.0.113.1' }]])
    expect(asked).toBe(1)
  })

  it('saves the last use of a session that was noted twice before a save', async () => {
    const { lastSeen, clock, saved } = open()
    lastSeen.note('a', () => '203.0.113.1')
    clock.advance({ seconds: 60 })
    lastSeen.note('a', () => '203.0.113.2')
    await lastSeen.close()
    expect(saved).toEqual([[{ id: 'a', at: clock.now(), ip: '203.0.113.2' }]])
  })

  it('saves many sessions in statements of a thousand', async () => {
    const { lastSeen, saved } = open()
    for (let count = 0; count < 2500; count++) lastSeen.note(`session-${count}`, () => '203.0.113.1')
    await lastSeen.close()
    expect(saved.map(({ length }) => length)).toEqual([1000, 1000, 500])
  })

  it('saves again what could not be saved, and not what was noted again meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const saved: (readonly Use[])[] = []
    let isUnavailable = true
    const { lastSeen, clock } = open(async (uses) => {
      if (isUnavailable) throw new Error('The database is unavailable.')
      saved.push(uses)
    })
    const first = clock.now()
    for (const id of ['a', 'b']) lastSeen.note(id, () => '203.0.113.1')
    await vi.advanceTimersByTimeAsync(FLUSH_MS)
    clock.advance({ seconds: 60 })
    lastSeen.note('a', () => '203.0.113.2')
    await vi.advanceTimersByTimeAsync(FLUSH_MS)
    expect(saved).toEqual([])
    isUnavailable = false
    await vi.advanceTimersByTimeAsync(FLUSH_MS)
    expect(saved.flat().sort((one, other) => one.id.localeCompare(other.id))).toEqual([
      { id: 'a', at: clock.now(), ip: '203.0.113.2' },
      { id: 'b', at: first, ip: '203.0.113.1' },
    ])
    await lastSeen.close()
    expect(saved).toHaveLength(1)
  })

  it('saves one after the other, and keeps what was noted while a save failed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const saves: (readonly Use[])[] = []
    const first = Promise.withResolvers()
    const { lastSeen, clock } = open(async (uses) => {
      if (saves.push(uses) === 1) await first.promise
    })
    lastSeen.note('a', () => '203.0.113.1')
    await vi.advanceTimersByTimeAsync(FLUSH_MS)
    clock.advance({ seconds: 60 })
    lastSeen.note('a', () => '203.0.113.2')
    await vi.advanceTimersByTimeAsync(FLUSH_MS)
    expect(saves).toHaveLength(1)
    first.reject(new Error('The database is unavailable.'))
    await lastSeen.close()
    expect(saves.slice(1)).toEqual([[{ id: 'a', at: clock.now(), ip: '203.0.113.2' }]])
  })
})
