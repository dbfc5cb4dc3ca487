import { afterEach, describe, expect, it, vi } from 'vitest'
import { makeUnknownCount } from '../../src/http/unknown-credentials.ts'
import type { UnknownCount } from '../../src/http/unknown-credentials.ts'

afterEach(() => void vi.restoreAllMocks())

function isRefused({ refuse }: UnknownCount, ip: string): boolean {
  try {
    refuse(ip)
    return false
  } catch {
    return true
  }
}

describe('makeUnknownCount', () => {
  it('refuses a network at its limit until the minute is over, counts anew in the next one, and refuses no other one', () => {
    const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
    const counted = makeUnknownCount({ perMinute: 2 })
    counted.count('192.0.2.1')
    expect(isRefused(counted, '192.0.2.1')).toBe(false)
    counted.count('192.0.2.1')
    clock.mockReturnValue(59_999)
    expect([isRefused(counted, '192.0.2.1'), isRefused(counted, '192.0.2.2')]).toEqual([true, false])
    clock.mockReturnValue(60_000)
    expect(isRefused(counted, '192.0.2.1')).toBe(false)
    counted.count('192.0.2.1')
    expect(isRefused(counted, '192.0.2.1')).toBe(false)
    counted.count('192.0.2.1')
    expect(isRefused(counted, '192.0.2.1')).toBe(true)
  })

  it('refuses nobody where the limit is zero', () => {
    const counted = makeUnknownCount({ perMinute: 0 })
    counted.count('192.0.2.1')
    expect(isRefused(counted, '192.0.2.1')).toBe(false)
  })

  it('forgets the oldest network where it would remember more than 10,000', () => {
    const counted = makeUnknownCount({ perMinute: 1 })
    const networkOf = (index: number) => `2001:db8:${index.toString(16)}::1`
    for (let index = 0; index <= 10_000; index++) counted.count(networkOf(index))
    expect([0, 1, 10_000].map((index) => isRefused(counted, networkOf(index)))).toEqual([false, true, true])
  })
})
