import { describe, expect, it } from 'vitest'
import { CHALLENGE_SECONDS, isCounterRegression, mayRegister, maySignIn } from '../../src/control/passkeys/rules.ts'
import type { Challenge } from '../../src/control/passkeys/rules.ts'
import { readChallenge } from '../../src/control/passkeys/webauthn.ts'

const START = Date.UTC(2026, 10, 21)
const at = (seconds: number) => new Date(START + seconds * 1000)

const REGISTRATION: Challenge = {
  ceremony: 'registration',
  accountId: 'acc_ada',
  sessionId: 'ses_laptop',
  email: null,
  expiresAt: at(CHALLENGE_SECONDS),
}

const AUTHENTICATION: Challenge = { ...REGISTRATION, ceremony: 'authentication', accountId: null, sessionId: null }

describe('mayRegister', () => {
  it.each<[string, Partial<Challenge>, number, boolean]>([
    ['the session that requested the challenge', {}, 0, true],
    ['that session 1 ms before the challenge expires', {}, CHALLENGE_SECONDS - 0.001, true],
    ['that session when the challenge expires', {}, CHALLENGE_SECONDS, false],
    ['another session of the account', { sessionId: 'ses_phone' }, 0, false],
    ['another account', { accountId: 'acc_grace' }, 0, false],
    ['a challenge for signing in', { ceremony: 'authentication' }, 0, false],
  ])('%s', (_, challenge, seconds, verdict) => {
    const caller = { accountId: 'acc_ada', sessionId: 'ses_laptop' }
    expect(mayRegister({ ...REGISTRATION, ...challenge }, caller, at(seconds))).toBe(verdict)
  })
})

describe('maySignIn', () => {
  type Claim = { readonly email?: string; readonly userHandle?: string | null }
  it.each<[string, Partial<Challenge>, Claim, number, boolean]>([
    ['the owner of the passkey, without an address', {}, {}, 0, true],
    ['the owner 1 ms before the challenge expires', {}, {}, CHALLENGE_SECONDS - 0.001, true],
    ['the owner when the challenge expires', {}, {}, CHALLENGE_SECONDS, false],
    ['the address that was named at the start', { email: 'ada@example.com' }, {}, 0, true],
    ['the address that is named at the end', {}, { email: 'ada@example.com' }, 0, true],
    ['another address at the start', { email: 'grace@example.com' }, {}, 0, false],
    ['another address at the end', {}, { email: 'grace@example.com' }, 0, false],
    ['the user handle of another account', {}, { userHandle: 'grace' }, 0, false],
    ['no user handle', {}, { userHandle: null }, 0, false],
    ['a challenge for a registration', { ceremony: 'registration' }, {}, 0, false],
  ])('%s', (_, challenge, claim, seconds, verdict) => {
    const owner = { email: 'ada@example.com', userHandle: 'ada' }
    const claimed = { email: null, userHandle: 'ada', ...claim }
    expect(maySignIn({ ...AUTHENTICATION, ...challenge }, owner, claimed, at(seconds))).toBe(verdict)
  })
})

describe('isCounterRegression', () => {
  it.each<[string, bigint, number, boolean]>([
    ['a counter that increases', 4n, 5, false],
    ['a counter that stays the same', 5n, 5, true],
    ['a counter that decreases', 5n, 4, true],
    ['a counter that returns to 0', 5n, 0, true],
    ['the first use of a counter', 0n, 1, false],
    ['an authenticator without a counter', 0n, 0, false],
  ])('%s', (_, stored, reported, verdict) => {
    expect(isCounterRegression(stored, reported)).toBe(verdict)
  })
})

describe('readChallenge', () => {
  const read = (said: unknown) => {
    const text = typeof said === 'string' ? said : JSON.stringify(said)
    return readChallenge(Buffer.from(text).toString('base64url'))?.reveal() ?? null
  }
  const said = { type: 'webauthn.get', challenge: 'abc', origin: 'https://svc.example.com' }

  it('reads what a browser answered in a page of its own', () => {
    expect([read({ ...said, crossOrigin: false }), read(said)]).toEqual(['abc', 'abc'])
  })

  it.each<[string, unknown]>([
    ['from a frame inside another site, which not every browser names', { ...said, crossOrigin: true }],
    ['from such a frame, with the name of the site', { ...said, crossOrigin: true, topOrigin: 'https://evil.example' }],
    ['that says so in another way', { ...said, crossOrigin: 'false' }],
    ['without a challenge', { type: 'webauthn.get' }],
    ['with a challenge that is no text', { ...said, challenge: ['abc'] }],
    ['that is a list', [said]],
    ['that is null', null],
    ['that is not JSON', 'abc'],
  ])('reads nothing of an answer %s', (_, given) => {
    expect(read(given)).toBeNull()
  })
})
