import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { EarlyEnd } from '../../src/gateway/exchange/early-end.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

it('goes on with a stream whose content comes behind a reason to end, until its answer is complete', () => {
  const done: string[] = []
  const early = new EarlyEnd({ abort: () => done.push('abort') }, { end: () => done.push('end') })
  early.note('finishing', true)
  early.note('open', true)
  vi.advanceTimersByTime(60_000)
  expect(done).toEqual([])
  early.note('ended', true)
  vi.advanceTimersByTime(250)
  expect(done).toEqual(['end', 'abort'])
})
