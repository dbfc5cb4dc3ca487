import { createHmac } from 'node:crypto'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { signAccessToken, verifyAccessToken, verifyIgnoringExpiry } from '../../src/access/access-token.ts'
import type { AccessClaims } from '../../src/access/access-token.ts'
import { makeVerifyOnce } from '../../src/access/verify-once.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { cpuSecondsOf } from '../support/cpu-seconds.ts'

const ISSUER = 'https://svc.example.com'
const NOW = new Date(Date.UTC(2026, 10, 21, 9, 0, 0))
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000)
const CLAIMS: AccessClaims = {
  accountId: 'account-1',
  sessionId: 'session-1',
  organization: 'acme',
  team: '@acme/core',
  role: 'member',
}

type Pair = Awaited<ReturnType<typeof generateKeyPair>>
let ours: Pair
let theirs: Pair
let good: string

beforeAll(async () => {
  ours = await generateKeyPair('EdDSA', { extractable: true })
  theirs = await generateKeyPair('EdDSA', { extractable: true })
  const key = { kid: 'k1', privateKey: ours.privateKey }
  good = (await signAccessToken({ ...CLAIMS, clientId: 'my-cli' }, ISSUER, key, NOW, later(900))).reveal()
})

const findKey = (kid: string) => (kid === 'k1' ? ours.publicKey : undefined)
const verify = (token: string, now = NOW) => verifyAccessToken(new Secret(token), ISSUER, findKey, now)

type Header = { alg: string; typ?: string; kid?: string } & Record<string, unknown>
const HEADER: Header = { alg: 'EdDSA', typ: 'at+jwt', kid: 'k1' }

/** A token that is right but for what is given. */
function variant(header: Partial<Header>, claims: Record<string, unknown> = {}, key: Pair = ours): Promise<string> {
  const exp = later(900).getTime() / 1000
  const payload = { iss: ISSUER, aud: 'svc-gateway', sub: 'account-1', sid: 'session-1', exp, ...claims }
  return new SignJWT(payload)
    .setProtectedHeader({ ...HEADER, ...header })
    .sign(key.privateKey, { crit: { 'urn:example': true } })
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('verifyAccessToken', () => {
  it('takes what signAccessToken made', async () => {
    expect(await verify(good)).toEqual({ claims: CLAIMS, expiresAtMs: later(900).getTime() })
  })

  it('takes the variants below when nothing about them is wrong', async () => {
    expect(await verify(await variant({}))).not.toBeNull()
  })

  it.each<[string, () => Promise<string> | string]>([
    ['without a signature (alg none)', () => `${encode({ ...HEADER, alg: 'none' })}.${good.split('.')[1]}.`],
    ['signed with HMAC by the public key', hmacByPublicKey],
    ['with an unknown kid', () => variant({ kid: 'k2' })],
    ['without a kid', () => variant({ kid: undefined as never })],
    ['of another key under our kid', () => variant({}, {}, theirs)],
    [
      'that brings its own key along (jwk)',
      async () => variant({ jwk: await exportJWK(theirs.publicKey) }, {}, theirs),
    ],
    ['that names an address for its key (jku)', () => variant({ jku: 'https://evil.example/jwks.json' }, {}, theirs)],
    ['for another audience', () => variant({}, { aud: 'svc-admin' })],
    ['of another issuer', () => variant({}, { iss: 'https://evil.example' })],
    ['of another type', () => variant({ typ: 'JWT' })],
    ['shaped like an ID token', () => variant({ typ: 'JWT' }, { aud: 'some-client', nonce: 'n' })],
    ['without a session', () => variant({}, { sid: undefined })],
    ['without an end', () => variant({}, { exp: undefined })],
    ['with an end in the past', () => variant({}, { exp: later(-1).getTime() / 1000 })],
    ['with an unknown critical header', () => variant({ crit: ['urn:example'], 'urn:example': true })],
    ['with garbage at the end', () => `${good}garbage`],
    ['with a fourth part', () => `${good}.e30`],
    ['cut in half', () => good.slice(0, good.length / 2)],
    ['without its signature', () => good.split('.').slice(0, 2).join('.')],
    ['with another payload under its signature', () => good.replace(/\.[^.]+\./, `.${encode({ sub: 'root' })}.`)],
    ['that is a word', () => 'nonsense'],
    ['that is empty', () => ''],
    ['that is three dots', () => '..'],
  ])('refuses a token %s', async (_, make) => {
    expect(await verify(await make())).toBeNull()
  })

  it('refuses each of these quickly', async () => {
    const forged = await variant({}, {}, theirs)
    const seconds = await cpuSecondsOf(async () => {
      for (let times = 0; times < 50; times += 1) await verify(forged)
    })
    expect(seconds / 50).toBeLessThan(0.005)
  })

  it('counts the end itself as over', async () => {
    expect(await verify(good, later(899.999))).not.toBeNull()
    expect(await verify(good, later(900))).toBeNull()
  })

  it('passes on that the keys are out of reach', async () => {
    const away = () => Promise.reject(new Error('no database'))
    await expect(verifyAccessToken(new Secret(good), ISSUER, away, NOW)).rejects.toThrow('no database')
  })
})

describe('verifyIgnoringExpiry', () => {
  it('takes a token that has ended, and no forged one', async () => {
    const ended = await variant({}, { exp: later(-90_000).getTime() / 1000 })
    const forged = await variant({}, { exp: later(-90_000).getTime() / 1000 }, theirs)
    expect((await verifyIgnoringExpiry(new Secret(ended), ISSUER, findKey))?.claims.sessionId).toBe('session-1')
    expect(await verifyIgnoringExpiry(new Secret(forged), ISSUER, findKey)).toBeNull()
  })
})

describe('makeVerifyOnce', () => {
  it.each([
    ['once', 'a token', 900, () => ours, 'session-1', 1],
    ['once', 'a token that has expired', -90_000, () => ours, 'session-1', 1],
    ['each time', 'a forged token', 900, () => theirs, undefined, 2],
  ])('verifies %s: %s', async (_often, _token, seconds, keyOf, session, expected) => {
    const sent = await variant({}, { exp: later(seconds).getTime() / 1000 }, keyOf())
    let searches = 0
    const findPublicKey = (kid: string) => {
      searches += 1
      return findKey(kid)
    }
    const verify = makeVerifyOnce({ issuer: ISSUER, findPublicKey })
    await verify(new Secret(sent))
    expect((await verify(new Secret(sent)))?.claims.sessionId).toBe(session)
    expect(searches).toBe(expected)
  })
})

async function hmacByPublicKey(): Promise<string> {
  const input = `${encode({ ...HEADER, alg: 'HS256' })}.${good.split('.')[1]}`
  const signature = createHmac('sha256', await exportSPKI(ours.publicKey))
    .update(input)
    .digest('base64url')
  return `${input}.${signature}`
}
