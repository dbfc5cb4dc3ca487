import { generateKeyPair } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { signAccessToken } from '../../src/access/access-token.ts'
import { makeIdentifyToken } from '../../src/access/identify-token.ts'
import { openLiveStates } from '../../src/access/live-states.ts'
import { makeVerifyOnce } from '../../src/access/verify-once.ts'
import { makeAnswerOrLastKnown } from '../../src/database/last-known.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { systemClock } from '../../src/kernel/clock.ts'

const CALLER: Caller = {
  accountId: 'account-1',
  sessionId: 'session-1',
  sessionKind: 'device',
  organization: 'acme',
  team: '@acme/core',
  role: 'member',
  authenticatedAt: null,
}

/** The answers of the database to queries for the session, in order; the last one repeats. */
async function open(answers: readonly (() => Promise<Caller | null>)[]) {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA')
  const issuer = 'https://svc.example.com'
  const now = new Date()
  const expiresAt = new Date(now.getTime() + 900_000)
  const token = await signAccessToken(
    { ...CALLER, clientId: 'my-cli' },
    issuer,
    { kid: 'a', privateKey },
    now,
    expiresAt,
  )
  const queries = { count: 0 }
  const identify = makeIdentifyToken({
    verify: makeVerifyOnce({ issuer, findPublicKey: () => publicKey }),
    findDeviceCaller: () => (answers[queries.count++] ?? answers.at(-1) ?? (() => Promise.resolve(null)))(),
    states: openLiveStates({
      findAlive: (ids) => Promise.resolve(new Set(ids)),
      answerOrLastKnown: makeAnswerOrLastKnown(),
    }),
    clock: systemClock,
  })
  return { queries, identify: async () => identify(token) }
}

const found = () => Promise.resolve(CALLER)
const ended = () => Promise.resolve(null)
const hangs = () => new Promise<null>(() => {})
const fails = () => Promise.reject(new Error('unavailable'))

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }))
afterEach(() => void vi.useRealTimers())

describe('the caller of a session', () => {
  it('is not queried again within two seconds', async () => {
    const { identify, queries } = await open([found])
    await identify()
    vi.advanceTimersByTime(1999)
    expect(await identify()).toEqual(CALLER)
    expect(queries.count).toBe(1)
  })

  it('is served from the last known state while it is queried after two seconds', async () => {
    const { identify } = await open([found, ended])
    await identify()
    vi.advanceTimersByTime(2001)
    expect(await identify()).toEqual(CALLER)
    await vi.advanceTimersByTimeAsync(0)
    expect(await identify()).toBeNull()
  })

  it('is refused after four seconds when the session has ended', async () => {
    const { identify } = await open([found, ended])
    await identify()
    vi.advanceTimersByTime(4001)
    expect(await identify()).toBeNull()
  })

  it('is refused four seconds after a slow query that still found the session', async () => {
    const slowly = async () => {
      await new Promise((resolve) => setTimeout(resolve, 1300))
      return found()
    }
    const { identify } = await open([found, slowly, ended])
    await identify()
    vi.advanceTimersByTime(2001)
    expect(await identify()).toEqual(CALLER)
    await vi.advanceTimersByTimeAsync(1300)
    vi.advanceTimersByTime(2701)
    expect(await identify()).toBeNull()
  })

  it('waits 100 ms at most for a database that does not answer', async () => {
    const { identify } = await open([found, hangs])
    await identify()
    vi.advanceTimersByTime(4500)
    const identified = identify()
    await vi.advanceTimersByTimeAsync(100)
    expect(await identified).toEqual(CALLER)
  })

  it('stays valid while the database is unavailable', async () => {
    const { identify } = await open([found, fails])
    await identify()
    vi.advanceTimersByTime(60_000)
    expect(await identify()).toEqual(CALLER)
  })

  it('cannot be determined for an unknown session while the database is unavailable', async () => {
    const { identify } = await open([fails])
    await expect(identify()).rejects.toThrow('unavailable')
  })
})
