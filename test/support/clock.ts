import type { Clock } from '../../src/kernel/clock.ts'

/** A clock that stands still until a test moves it. */
export type TestClock = Clock & { advance(by: { days?: number; seconds?: number; ms?: number }): void }

/** It starts at the machine's time, which database drivers and cookie jars use. */
export function testClock(start = new Date()): TestClock {
  let nowMs = start.getTime()
  return {
    now: () => new Date(nowMs),
    advance({ days = 0, seconds = 0, ms = 0 }) {
      nowMs += days * 86_400_000 + seconds * 1000 + ms
    },
  }
}
