import { describe, expect, it } from 'vitest'
import { absoluteEnd, idleEnd, isClientOf, judgeRefresh } from '../../src/control/tokens/rules.ts'
import type { DeviceSessionState, RefreshVerdict } from '../../src/control/tokens/rules.ts'

const START = Date.UTC(2026, 10, 21)
const at = (seconds: number) => new Date(START + seconds * 1000)
const DAY = 86_400

const SESSION: DeviceSessionState = {
  generation: 3,
  rotatedAt: at(100),
  clientFingerprint: 'same',
  idleExpiresAt: at(30 * DAY),
  absoluteExpiresAt: at(90 * DAY),
  revoked: false,
}

describe('judgeRefresh', () => {
  type Case = [
    string,
    Partial<DeviceSessionState>,
    { generation: number; fingerprint?: string },
    number,
    RefreshVerdict,
  ]
  it.each<Case>([
    ['the newest token', {}, { generation: 3 }, 110, 'rotate'],
    ['the newest token from another client', {}, { generation: 3, fingerprint: 'other' }, 110, 'rotate'],
    ['the first token of a new session', { generation: 0, rotatedAt: null }, { generation: 0 }, 1, 'rotate'],
    ['the previous token at once', {}, { generation: 2 }, 100, 'repeat'],
    ['the previous token at the end of the window', {}, { generation: 2 }, 130, 'repeat'],
    ['the previous token 1 ms after the window', {}, { generation: 2 }, 130.001, 'reuse'],
    ['the previous token from another client', {}, { generation: 2, fingerprint: 'other' }, 101, 'reuse'],
    ['the token two generations back within the window', {}, { generation: 1 }, 101, 'reuse'],
    ['the first token within the window', {}, { generation: 0 }, 101, 'reuse'],
    ['a token ahead of its session, after the database was restored', {}, { generation: 4 }, 101, 'ahead'],
    ['the newest token of a revoked session', { revoked: true }, { generation: 3 }, 110, 'unauthorized'],
    ['an old token of a revoked session', { revoked: true }, { generation: 0 }, 110, 'unauthorized'],
    ['the newest token 1 ms before the idle end', {}, { generation: 3 }, 30 * DAY - 0.001, 'rotate'],
    ['the newest token at the idle end', {}, { generation: 3 }, 30 * DAY, 'expired'],
    ['the newest token at the absolute end', { idleExpiresAt: at(91 * DAY) }, { generation: 3 }, 90 * DAY, 'expired'],
    ['an old token at the idle end', {}, { generation: 0 }, 30 * DAY, 'expired'],
  ])('%s', (_, session, token, seconds, verdict) => {
    expect(judgeRefresh({ ...SESSION, ...session }, { fingerprint: 'same', ...token }, 30, at(seconds))).toBe(verdict)
  })

  it('treats a repeated token as reuse when the replay window is 0', () => {
    expect(judgeRefresh(SESSION, { generation: 2, fingerprint: 'same' }, 0, at(100.001))).toBe('reuse')
  })
})

describe('the lifetimes of a session', () => {
  const lifetimes = { refreshIdleDays: 30, refreshAbsoluteDays: 90 }

  it('end after the idle days without use', () => {
    expect(idleEnd(at(0), lifetimes, at(90 * DAY))).toEqual(at(30 * DAY))
  })
  it('never end after the absolute end, however often the session is used', () => {
    expect(idleEnd(at(80 * DAY), lifetimes, at(90 * DAY))).toEqual(at(90 * DAY))
  })
  it('end after the absolute days in any case', () => {
    expect(absoluteEnd(at(0), lifetimes)).toEqual(at(90 * DAY))
  })
})

it.each([
  ['the client that began it', 'editor', 'editor', true],
  ['another client', 'editor', 'agent', false],
  ['a client without a name', 'editor', null, true],
  ['any client where the first had no name', null, 'agent', true],
])('what a request began may be used by %s: %s, %s', (_, clientId, presented, expected) => {
  expect(isClientOf({ clientId }, presented)).toBe(expected)
})
