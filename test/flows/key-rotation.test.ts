import { describe, expect, it, vi } from 'vitest'
import { openKeyring } from '../../src/access/keyring.ts'
import type { Keyring } from '../../src/access/keyring.ts'
import { makeSigningKeyStore } from '../../src/access/signing-key-store.ts'
import { signAccessToken, verifyAccessToken } from '../../src/access/access-token.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { testClock } from '../support/clock.ts'
import { freshDatabase } from '../support/database.ts'

const ISSUER = 'http://localhost:8787'
const ACCESS_TOKEN_SECONDS = 900
const CLAIMS = {
  accountId: 'a',
  clientId: 'svc',
  sessionId: 's',
  organization: 'acme',
  team: '@acme/core',
  role: 'member',
} as const

/** The keyrings of two processes that share a database and a clock. */
async function openTwoKeyrings() {
  const database = await freshDatabase()
  const clock = testClock()
  const store = makeSigningKeyStore(database)
  const open = () => openKeyring(store, clock, ACCESS_TOKEN_SECONDS)
  const [one, two] = [await open(), await open()]
  const sign = (by: Keyring) => {
    const now = clock.now()
    return signAccessToken(CLAIMS, ISSUER, by.signingKey(), now, addSeconds(now, ACCESS_TOKEN_SECONDS))
  }
  const isValid = async (token: Secret, by: Keyring) =>
    (await verifyAccessToken(token, ISSUER, by.findPublicKey, clock.now())) !== null
  const kids = (by: Keyring) => by.publicKeys().map(({ kid }) => kid)
  return { database, clock, one, two, sign, isValid, kids, [Symbol.asyncDispose]: () => database.close() }
}

describe('rotation of the signing key', () => {
  it('changes nothing before 30 days have passed', async () => {
    await using keyrings = await openTwoKeyrings()
    keyrings.clock.advance({ days: 30, ms: -1 })
    await keyrings.one.rotate()
    expect(keyrings.kids(keyrings.one)).toEqual(['access-1'])
  })

  it('publishes the next key 15 minutes before it signs, and retires the old one after its tokens', async () => {
    await using keyrings = await openTwoKeyrings()
    const { one, clock } = keyrings
    clock.advance({ days: 30 })
    await one.rotate()
    expect([keyrings.kids(one), one.signingKey().kid]).toEqual([['access-1', 'access-2'], 'access-1'])
    clock.advance({ seconds: 900, ms: -1 })
    expect(one.signingKey().kid).toBe('access-1')
    const last = await keyrings.sign(one)
    clock.advance({ ms: 1 })
    expect(one.signingKey().kid).toBe('access-2')
    clock.advance({ seconds: ACCESS_TOKEN_SECONDS - 2 })
    expect(await keyrings.isValid(last, one)).toBe(true)
    // Five minutes longer than its last token, for clock differences.
    clock.advance({ seconds: 302, ms: -1 })
    expect(keyrings.kids(one)).toEqual(['access-1', 'access-2'])
    clock.advance({ ms: 1 })
    expect(keyrings.kids(one)).toEqual(['access-2'])
  })

  it('signs with the first key at once, also on a machine whose clock is behind', async () => {
    await using database = await freshDatabase()
    const store = makeSigningKeyStore(database)
    await openKeyring(store, testClock(new Date('2026-11-21T10:00:03Z')), ACCESS_TOKEN_SECONDS)
    const behind = await openKeyring(store, testClock(new Date('2026-11-21T10:00:00Z')), ACCESS_TOKEN_SECONDS)
    expect(behind.signingKey().kid).toBe('access-1')
  })

  it('loads the keys once for all callers that find a key missing, and again after a failure', async () => {
    await using keyrings = await openTwoKeyrings()
    const { clock, one, database } = keyrings
    const store = makeSigningKeyStore(database)
    let isUnavailable = false
    let loads = 0
    const findKeys = (now: Date) => {
      loads++
      return isUnavailable ? Promise.reject(new Error('unavailable')) : store.findKeys(now)
    }
    const other = await openKeyring({ ...store, findKeys }, clock, ACCESS_TOKEN_SECONDS)
    clock.advance({ days: 30 })
    await one.rotate()
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 5001)
    isUnavailable = true
    await expect(other.findPublicKey('access-2')).rejects.toThrow('unavailable')
    isUnavailable = false
    loads = 0
    const found = await Promise.all([1, 2, 3].map(() => other.findPublicKey('access-2')))
    vi.restoreAllMocks()
    expect([found.every((key) => key !== undefined), loads]).toEqual([true, 1])
  })

  it('loads the keys at most every five seconds, however many invented keys are named', async () => {
    await using keyrings = await openTwoKeyrings()
    const store = makeSigningKeyStore(keyrings.database)
    const findKeys = vi.fn<typeof store.findKeys>(store.findKeys)
    const keyring = await openKeyring({ ...store, findKeys }, keyrings.clock, ACCESS_TOKEN_SECONDS)
    const before = findKeys.mock.calls.length
    for (let count = 0; count < 20; count++) expect(await keyring.findPublicKey(`invented-${count}`)).toBeUndefined()
    expect(findKeys.mock.calls.length - before).toBe(0)
  })

  it('makes one next key when both processes rotate at once', async () => {
    await using keyrings = await openTwoKeyrings()
    const { one, two, clock } = keyrings
    clock.advance({ days: 30 })
    await Promise.all([one.rotate(), two.rotate()])
    expect(keyrings.kids(one)).toEqual(['access-1', 'access-2'])
    expect(one.publicKeys()).toEqual(two.publicKeys())
    const written = await keyrings.database.prisma.auditEvent.count({ where: { kind: 'signing_key.published' } })
    expect(written).toBe(1)
  })

  it('refuses no token during a rotation, at the other process and with keys cached for 5 minutes', async () => {
    await using keyrings = await openTwoKeyrings()
    const { one, two, clock } = keyrings
    clock.advance({ days: 30, seconds: -600 })
    const live: { token: Secret; endsAt: number }[] = []
    let cached = { kids: keyrings.kids(one), at: clock.now().getTime() }
    let refused = 0
    for (let minute = 0; minute < 60; minute++) {
      await one.rotate()
      // The other process checks less often.
      if (minute % 5 === 0) await two.rotate()
      const now = clock.now().getTime()
      if (now - cached.at >= 300_000) cached = { kids: keyrings.kids(two), at: now }
      for (const by of [one, two]) {
        live.push({ token: await keyrings.sign(by), endsAt: now + ACCESS_TOKEN_SECONDS * 1000 })
        if (!cached.kids.includes(by.signingKey().kid)) refused++
      }
      for (const { token, endsAt } of live.filter((one) => one.endsAt - 1000 > now)) {
        for (const by of [one, two]) if (endsAt && !(await keyrings.isValid(token, by))) refused++
      }
      clock.advance({ seconds: 60 })
    }
    expect(refused).toBe(0)
    expect(one.signingKey().kid).toBe('access-2')
    expect(keyrings.kids(one)).toEqual(['access-2'])
  })
})
