import { describe, expect, it } from 'vitest'
import { openKeyring } from '../../src/access/keyring.ts'
import type { Keyring } from '../../src/access/keyring.ts'
import { accessStore } from '../../src/access/store.ts'
import { signAccessToken, verifyAccessToken } from '../../src/access/access-token.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { testClock } from '../support/clock.ts'
import { freshDatabase } from '../support/database.ts'

const ISSUER = 'http://localhost:8787'
const ACCESS_TOKEN_SECONDS = 900
const CLAIMS = { accountId: 'a', sessionId: 's', organization: 'acme', team: '@acme/core', role: 'member' } as const

/** Two processes of a deployment, and somebody outside who keeps the published keys for five minutes. */
async function deployment() {
  const database = await freshDatabase()
  const clock = testClock()
  const store = accessStore(database.prisma)
  const open = () => openKeyring(store, clock, ACCESS_TOKEN_SECONDS)
  const [one, two] = [await open(), await open()]
  const sign = (by: Keyring) => {
    const now = clock.now()
    return signAccessToken(CLAIMS, ISSUER, by.signingKey(), now, addSeconds(now, ACCESS_TOKEN_SECONDS))
  }
  const isGood = async (token: Secret, by: Keyring) =>
    (await verifyAccessToken(token, ISSUER, by.findPublicKey, clock.now())) !== null
  const kids = (by: Keyring) => by.publicKeys().map(({ kid }) => kid)
  return { database, clock, one, two, sign, isGood, kids, [Symbol.asyncDispose]: () => database.close() }
}

describe('rotation of the signing key', () => {
  it('changes nothing before a month is over', async () => {
    await using service = await deployment()
    service.clock.advance({ days: 30, ms: -1 })
    await service.one.rotate()
    expect(service.kids(service.one)).toEqual(['access-1'])
  })

  it('publishes the next key a quarter of an hour before it signs, and retires the old one when its tokens have ended', async () => {
    await using service = await deployment()
    const { one, clock } = service
    clock.advance({ days: 30 })
    await one.rotate()
    expect([service.kids(one), one.signingKey().kid]).toEqual([['access-1', 'access-2'], 'access-1'])
    clock.advance({ seconds: 900, ms: -1 })
    expect(one.signingKey().kid).toBe('access-1')
    const last = await service.sign(one)
    clock.advance({ ms: 1 })
    expect(one.signingKey().kid).toBe('access-2')
    clock.advance({ seconds: ACCESS_TOKEN_SECONDS - 2 })
    expect(await service.isGood(last, one)).toBe(true)
    clock.advance({ seconds: 302 })
    expect(service.kids(one)).toEqual(['access-2'])
  })

  it('signs with the first key at once, on a machine too whose clock is behind the one that made it', async () => {
    await using database = await freshDatabase()
    const store = accessStore(database.prisma)
    await openKeyring(store, testClock(new Date('2026-11-21T10:00:03Z')), ACCESS_TOKEN_SECONDS)
    const behind = await openKeyring(store, testClock(new Date('2026-11-21T10:00:00Z')), ACCESS_TOKEN_SECONDS)
    expect(behind.signingKey().kid).toBe('access-1')
  })

  it('makes one next key, though both processes turn at once', async () => {
    await using service = await deployment()
    const { one, two, clock } = service
    clock.advance({ days: 30 })
    await Promise.all([one.rotate(), two.rotate()])
    expect(service.kids(one)).toEqual(['access-1', 'access-2'])
    expect(one.publicKeys()).toEqual(two.publicKeys())
    const written = await service.database.prisma.auditEvent.count({ where: { kind: 'signing_key.published' } })
    expect(written).toBe(1)
  })

  it('refuses no token at any moment of it: at the other process, and where published keys are kept five minutes', async () => {
    await using service = await deployment()
    const { one, two, clock } = service
    clock.advance({ days: 30, seconds: -600 })
    const living: { token: Secret; endsAt: number }[] = []
    let kept = { kids: service.kids(one), at: clock.now().getTime() }
    let refused = 0
    for (let minute = 0; minute < 60; minute++) {
      await one.rotate()
      // The other process is slow to look.
      if (minute % 5 === 0) await two.rotate()
      const now = clock.now().getTime()
      if (now - kept.at >= 300_000) kept = { kids: service.kids(two), at: now }
      for (const by of [one, two]) {
        living.push({ token: await service.sign(by), endsAt: now + ACCESS_TOKEN_SECONDS * 1000 })
        if (!kept.kids.includes(by.signingKey().kid)) refused++
      }
      for (const { token, endsAt } of living.filter((one) => one.endsAt - 1000 > now)) {
        for (const by of [one, two]) if (endsAt && !(await service.isGood(token, by))) refused++
      }
      clock.advance({ seconds: 60 })
    }
    expect(refused).toBe(0)
    expect(one.signingKey().kid).toBe('access-2')
    expect(service.kids(one)).toEqual(['access-2'])
  })
})
