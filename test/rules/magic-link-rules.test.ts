import { describe, expect, it } from 'vitest'
import { isDoubleClick, judgeLink } from '../../src/control/magic-link/rules.ts'
import type { LinkVerdict } from '../../src/control/magic-link/rules.ts'

const START = Date.UTC(2026, 10, 21, 9, 0, 0)
const at = (seconds: number) => new Date(START + seconds * 1000)

type Link = Parameters<typeof judgeLink>[0]
const OPEN: Link = { status: 'pending', expiresAt: at(600), invited: true, usedAt: null }

describe('judgeLink', () => {
  it.each<[string, Link, number, LinkVerdict]>([
    ['an unused link', OPEN, 10, 'open'],
    ['a login approved in another way', { ...OPEN, status: 'approved' }, 10, 'open'],
    ['an unused link 1 ms before its end', OPEN, 599.999, 'open'],
    ['an unused link at its end', OPEN, 600, 'expired'],
    ['a used link', { ...OPEN, status: 'approved', usedAt: at(5) }, 10, 'used'],
    ['a used link after its end', { ...OPEN, status: 'approved', usedAt: at(5) }, 700, 'used'],
    ['a denied login', { ...OPEN, status: 'denied' }, 10, 'ended'],
    ['a cancelled login after its end', { ...OPEN, status: 'cancelled' }, 700, 'ended'],
    ['a withdrawn invitation', { ...OPEN, invited: false }, 10, 'ended'],
  ])('%s', (_, link, seconds, verdict) => {
    expect(judgeLink(link, at(seconds))).toBe(verdict)
  })
})

describe('isDoubleClick', () => {
  it.each<[string, Parameters<typeof isDoubleClick>[0], number, boolean]>([
    ['a link that approved a moment ago', { status: 'approved', usedAt: at(5) }, 6, true],
    ['a link that approved 1 ms less than a minute ago', { status: 'approved', usedAt: at(5) }, 64.999, true],
    ['a link that approved a minute ago', { status: 'approved', usedAt: at(5) }, 65, false],
    ['a login approved in another way', { status: 'approved', usedAt: null }, 6, false],
    ['a link that denied', { status: 'denied', usedAt: at(5) }, 6, false],
  ])('%s', (_, login, seconds, expected) => {
    expect(isDoubleClick(login, at(seconds))).toBe(expected)
  })
})
