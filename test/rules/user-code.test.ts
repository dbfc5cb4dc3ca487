import { describe, expect, it } from 'vitest'
import { newUserCode, plainUserCode, showUserCode } from '../../src/control/device-login/user-code.ts'

describe('user codes', () => {
  it('are eight letters that look different from each other, each equally likely', () => {
    const codes = Array.from({ length: 2000 }, newUserCode)
    expect(codes.filter((code) => !/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/.test(code))).toEqual([])
    const counts = new Map<string, number>()
    for (const letter of codes.join('')) counts.set(letter, (counts.get(letter) ?? 0) + 1)
    expect(counts.size).toBe(20)
    // 800 expected of each; far more than chance is away from 600 and 1000.
    expect([...counts.values()].filter((count) => count < 600 || count > 1000)).toEqual([])
    expect(new Set(codes).size).toBe(2000)
  })

  it('are shown in two groups', () => {
    expect(showUserCode('BCDFGHJK')).toBe('BCDF-GHJK')
  })

  it.each([
    ['as it is shown', 'BCDF-GHJK', 'BCDFGHJK'],
    ['in small letters', 'bcdf-ghjk', 'BCDFGHJK'],
    ['with spaces and another dash', ' BCDF – GHJK\n', 'BCDFGHJK'],
    ['with NUL', 'BCDF\0GHJK', 'BCDFGHJK'],
    ['nothing but signs', '--------', ''],
  ])('are read %s', (_, typed, plain) => {
    expect(plainUserCode(typed)).toBe(plain)
  })

  it('survive being shown and typed', () => {
    const code = newUserCode()
    expect(plainUserCode(showUserCode(code).toLowerCase())).toBe(code)
  })
})
