import { describe, expect, it } from 'vitest'
import { judgePoll, waitSeconds } from '../../src/control/device-login/rules.ts'
import type { DeviceLogin, PollVerdict } from '../../src/control/device-login/rules.ts'

const START = Date.UTC(2026, 10, 21, 9, 0, 0)
/** The time this many seconds after the start. */
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
    ['a pending login', PENDING, 10, 'authorization_pending'],
    ['a first poll right after the start', PENDING, 0, 'authorization_pending'],
    ['a poll one interval after the last', { ...PENDING, lastPolledAt: at(5) }, 10, 'authorization_pending'],
    ['a poll half a second early', { ...PENDING, lastPolledAt: at(5) }, 9.5, 'authorization_pending'],
    ['a poll earlier than the tolerance', { ...PENDING, lastPolledAt: at(5) }, 9.499, 'rate_limited'],
    ['a second poll at the same time', { ...PENDING, lastPolledAt: at(5) }, 5, 'rate_limited'],
    ['a poll after the clock went back an hour', { ...PENDING, lastPolledAt: at(3600) }, 10, 'authorization_pending'],
    ['a last poll saved by a clock that is ahead', { ...PENDING, lastPolledAt: at(10.2) }, 10, 'rate_limited'],
    ['a pending login 1 ms before its end', PENDING, 599.999, 'authorization_pending'],
    ['a pending login at its end', PENDING, 600, 'expired'],
    ['an expired login that polls too soon', { ...PENDING, lastPolledAt: at(599) }, 600, 'expired'],
    ['an approved login', APPROVED, 110, 'granted'],
    ['an approved login that polls too soon', { ...APPROVED, lastPolledAt: at(109) }, 110, 'granted'],
    ['an approval in the last second', approvedAt(599), 604, 'granted'],
    ['1 ms before the end of the minute after approval', approvedAt(599), 658.999, 'granted'],
    ['the end of the minute after approval', approvedAt(599), 659, 'expired'],
    ['an early approval 1 ms before the end of the login', approvedAt(10), 599.999, 'granted'],
    ['an early approval at the end of the login', approvedAt(10), 600, 'expired'],
    ['a session that has not refreshed', { ...APPROVED, session: { generation: 0, revoked: false } }, 110, 'granted'],
    ['a session that has refreshed', { ...APPROVED, session: { generation: 1, revoked: false } }, 110, 'unauthorized'],
    ['a revoked session', { ...APPROVED, session: { generation: 0, revoked: true } }, 110, 'unauthorized'],
    ['a denied login', { ...PENDING, status: 'denied' }, 10, 'access_denied'],
    ['a denied login at its end', { ...PENDING, status: 'denied' }, 600, 'expired'],
    ['a denied login that polls too soon', { ...PENDING, status: 'denied', lastPolledAt: at(9) }, 10, 'access_denied'],
    ['a login whose email failed', { ...PENDING, status: 'cancelled' }, 10, 'expired'],
    ['a withdrawn invitation', { ...PENDING, invited: false }, 10, 'not_invited'],
    ['an invitation withdrawn after approval', { ...APPROVED, invited: false }, 110, 'not_invited'],
    ['a login cancelled by a withdrawal', { ...PENDING, status: 'cancelled', invited: false }, 10, 'not_invited'],
  ])('%s', (_, login, seconds, verdict) => {
    expect(judgePoll(login, 5, at(seconds))).toBe(verdict)
  })
})

describe('waitSeconds', () => {
  it.each([
    ['the interval after a poll just now', 10, 10, 5],
    ['the rest of the interval after a poll two seconds ago', 8, 10, 3],
    ['at least a second after a poll long ago', 1, 10, 1],
    ['at most the interval after a poll before the clock was set back', 3610, 10, 5],
  ])('%s', (_, polled, now, wait) => {
    expect(waitSeconds(at(polled), 5, at(now))).toBe(wait)
  })
})
