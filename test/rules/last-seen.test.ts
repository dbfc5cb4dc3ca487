import { describe, expect, it } from 'vitest'
import { openLastSeen } from '../../src/access/last-seen.ts'
import type { Use } from '../../src/access/last-seen.ts'
import { testClock } from '../support/clock.ts'

function open(save?: (uses: readonly Use[]) => Promise<void>) {
  const saved: (readonly Use[])[] = []
  const clock = testClock()
  const silent = () => undefined
  const log = { debug: silent, info: silent, warn: silent, error: silent }
  const lastSeen = openLastSeen({
    save: save ?? (async (uses) => void saved.push(uses)),
    clock,
    log,
    flushMs: 3_600_000,
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

  it('goes on when a save fails', async () => {
    const { lastSeen } = open(() => Promise.reject(new Error('The database is away.')))
    lastSeen.note('a', () => '203.0.113.1')
    await lastSeen.close()
    expect(() => lastSeen.note('b', () => '203.0.113.1')).not.toThrow()
  })
})
