import { describe, expect, it } from 'vitest'
import { judgeCode } from '../../src/control/device-page/rules.ts'
import type { CodeVerdict } from '../../src/control/device-page/rules.ts'

const START = Date.UTC(2026, 10, 21, 9, 0, 0)
const at = (seconds: number) => new Date(START + seconds * 1000)

describe('judgeCode', () => {
  type Login = Parameters<typeof judgeCode>[0]
  const OPEN: Login = { status: 'pending', expiresAt: at(600), invited: true }
  it.each<[string, Login, number, CodeVerdict]>([
    ['a pending login', OPEN, 10, 'open'],
    ['a pending login 1 ms before its end', OPEN, 599.999, 'open'],
    ['a pending login at its end', OPEN, 600, 'expired'],
    ['an approved login', { ...OPEN, status: 'approved' }, 10, 'approved'],
    ['an approved login after its end', { ...OPEN, status: 'approved' }, 700, 'approved'],
    ['a denied login', { ...OPEN, status: 'denied' }, 10, 'denied'],
    ['a cancelled login', { ...OPEN, status: 'cancelled' }, 10, 'not_found'],
    ['a withdrawn invitation', { ...OPEN, invited: false }, 10, 'not_found'],
  ])('%s', (_, login, seconds, verdict) => {
    expect(judgeCode(login, at(seconds))).toBe(verdict)
  })
})
