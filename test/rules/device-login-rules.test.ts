import { describe, expect, it } from 'vitest'
import { judgeCode, judgeLink, judgePoll, waitSeconds } from '../../src/control/device-login/rules.ts'
import type { CodeVerdict, DeviceLogin, LinkVerdict, PollVerdict } from '../../src/control/device-login/rules.ts'

const START = Date.UTC(2026, 10, 21, 9, 0, 0)
/** So many seconds after the start. */
const at = (seconds: number) => new Date(START + seconds * 1000)

const PENDING: DeviceLogin = {
  status: 'pending',
  expiresAt: at(600),
  approvedAt: null,
  lastPolledAt: null,
  invited: true,
  session: null,
}
const APPROVED: DeviceLogin = { ...PENDING, status: 'approved', approvedAt: at(100) }
const approvedAt = (seconds: number): DeviceLogin => ({ ...APPROVED, approvedAt: at(seconds) })

describe('judgePoll', () => {
  it.each<[string, DeviceLogin, number, PollVerdict]>([
    ['nobody has approved', PENDING, 10, 'authorization_pending'],
    ['the first poll comes at once', PENDING, 0, 'authorization_pending'],
    ['the last poll was the interval ago', { ...PENDING, lastPolledAt: at(5) }, 10, 'authorization_pending'],
    ['the client’s timer is half a second early', { ...PENDING, lastPolledAt: at(5) }, 9.5, 'authorization_pending'],
    ['it is earlier than that', { ...PENDING, lastPolledAt: at(5) }, 9.499, 'rate_limited'],
    ['it polls again at once', { ...PENDING, lastPolledAt: at(5) }, 5, 'rate_limited'],
    ['the clock went back an hour', { ...PENDING, lastPolledAt: at(3600) }, 10, 'authorization_pending'],
    ['another replica’s clock is a little ahead', { ...PENDING, lastPolledAt: at(10.2) }, 10, 'rate_limited'],
    ['a millisecond is left', PENDING, 599.999, 'authorization_pending'],
    ['its time is over to the millisecond', PENDING, 600, 'expired'],
    ['it is over and it polls too soon', { ...PENDING, lastPolledAt: at(599) }, 600, 'expired'],
    ['it was approved', APPROVED, 110, 'granted'],
    ['it was approved and polls too soon', { ...APPROVED, lastPolledAt: at(109) }, 110, 'granted'],
    ['approval was in the last second', approvedAt(599), 604, 'granted'],
    ['a millisecond of the minute after approval is left', approvedAt(599), 658.999, 'granted'],
    ['the minute after approval is over', approvedAt(599), 659, 'expired'],
    ['approval was early: the login’s own end counts', approvedAt(10), 599.999, 'granted'],
    ['approval was early and the login’s own end is reached', approvedAt(10), 600, 'expired'],
    ['its session has never refreshed', { ...APPROVED, session: { generation: 0, revoked: false } }, 110, 'granted'],
    ['its session has refreshed', { ...APPROVED, session: { generation: 1, revoked: false } }, 110, 'unauthorized'],
    ['its session was ended', { ...APPROVED, session: { generation: 0, revoked: true } }, 110, 'unauthorized'],
    ['it was denied', { ...PENDING, status: 'denied' }, 10, 'access_denied'],
    ['it was denied and its time is over', { ...PENDING, status: 'denied' }, 600, 'expired'],
    ['it was denied and polls too soon', { ...PENDING, status: 'denied', lastPolledAt: at(9) }, 10, 'access_denied'],
    ['its mail failed', { ...PENDING, status: 'cancelled' }, 10, 'expired'],
    ['the invitation was withdrawn', { ...PENDING, invited: false }, 10, 'not_invited'],
    ['the invitation was withdrawn after approval', { ...APPROVED, invited: false }, 110, 'not_invited'],
    ['withdrawal cancelled it', { ...PENDING, status: 'cancelled', invited: false }, 10, 'not_invited'],
  ])('when %s', (_, login, seconds, verdict) => {
    expect(judgePoll(login, 5, at(seconds))).toBe(verdict)
  })
})

describe('waitSeconds', () => {
  it.each([
    ['just polled', 10, 10, 5],
    ['polled two seconds ago', 8, 10, 3],
    ['polled long ago: never less than a second', 1, 10, 1],
    ['never polled', null, 10, 5],
    ['polled before the clock was set back: never more than the interval', 3610, 10, 5],
  ])('%s', (_, polled, now, wait) => {
    expect(waitSeconds({ lastPolledAt: polled === null ? null : at(polled) }, 5, at(now))).toBe(wait)
  })
})

describe('judgeLink', () => {
  type Link = Parameters<typeof judgeLink>[0]
  const OPEN: Link = { status: 'pending', expiresAt: at(600), invited: true, usedAt: null }
  it.each<[string, Link, number, LinkVerdict]>([
    ['nobody used it', OPEN, 10, 'open'],
    ['the login was approved another way', { ...OPEN, status: 'approved' }, 10, 'open'],
    ['a millisecond is left', OPEN, 599.999, 'open'],
    ['its time is over to the millisecond', OPEN, 600, 'expired'],
    ['it was used', { ...OPEN, status: 'approved', usedAt: at(5) }, 10, 'used'],
    ['it was used and its time is over', { ...OPEN, status: 'approved', usedAt: at(5) }, 700, 'used'],
    ['the login was denied', { ...OPEN, status: 'denied' }, 10, 'ended'],
    ['the login was cancelled and its time is over', { ...OPEN, status: 'cancelled' }, 700, 'ended'],
    ['the invitation was withdrawn', { ...OPEN, invited: false }, 10, 'ended'],
  ])('when %s', (_, link, seconds, verdict) => {
    expect(judgeLink(link, at(seconds))).toBe(verdict)
  })
})

describe('judgeCode', () => {
  type Code = Parameters<typeof judgeCode>[0]
  const OPEN: Code = { status: 'pending', expiresAt: at(600), invited: true }
  it.each<[string, Code, number, CodeVerdict]>([
    ['the login waits', OPEN, 10, 'open'],
    ['a millisecond is left', OPEN, 599.999, 'open'],
    ['its time is over to the millisecond', OPEN, 600, 'expired'],
    ['it was approved', { ...OPEN, status: 'approved' }, 10, 'approved'],
    ['it was approved and its time is over', { ...OPEN, status: 'approved' }, 700, 'approved'],
    ['it was denied', { ...OPEN, status: 'denied' }, 10, 'denied'],
    ['it was cancelled', { ...OPEN, status: 'cancelled' }, 10, 'not_found'],
    ['the invitation was withdrawn', { ...OPEN, invited: false }, 10, 'not_found'],
  ])('when %s', (_, code, seconds, verdict) => {
    expect(judgeCode(code, at(seconds))).toBe(verdict)
  })
})
