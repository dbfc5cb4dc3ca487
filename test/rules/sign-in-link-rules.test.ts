import { describe, expect, it } from 'vitest'
import { judgeSignInLink } from '../../src/control/sign-in-link/rules.ts'
import type { SignInLinkState, SignInLinkVerdict } from '../../src/control/sign-in-link/rules.ts'

const START = Date.UTC(2026, 10, 22, 9, 0, 0)
const at = (seconds: number) => new Date(START + seconds * 1000)
const OPEN: SignInLinkState = { usedAt: null, expiresAt: at(600), invited: true }

describe('judgeSignInLink', () => {
  it.each<[string, SignInLinkState, number, SignInLinkVerdict]>([
    ['a new link', OPEN, 0, 'open'],
    ['a link 1 ms before its end', OPEN, 599.999, 'open'],
    ['a link at its end', OPEN, 600, 'expired'],
    ['a link that was used', { ...OPEN, usedAt: at(5) }, 10, 'used'],
    ['a link that was used, after its end', { ...OPEN, usedAt: at(5) }, 700, 'used'],
    ['a link whose invitation was withdrawn', { ...OPEN, invited: false }, 10, 'ended'],
    ['a link whose invitation was withdrawn, after its end', { ...OPEN, invited: false }, 700, 'ended'],
  ])('%s', (_, link, seconds, verdict) => {
    expect(judgeSignInLink(link, at(seconds))).toBe(verdict)
  })
})
