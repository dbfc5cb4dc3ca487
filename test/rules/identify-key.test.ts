import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { FoundKey } from '../../src/access/api-key-store.ts'
import { makeIdentifyKey } from '../../src/access/identify-key.ts'
import { openLiveStates } from '../../src/access/live-states.ts'
import { makeAnswerOrLastKnown } from '../../src/database/last-known.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { newApiKey } from '../../src/kernel/credentials/api-key.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { testClock } from '../support/clock.ts'

const CALLER: Caller = {
  accountId: 'account-1',
  sessionId: 'key-1',
  sessionKind: 'api_key',
  organization: 'acme',
  team: '@acme/core',
  role: 'member',
  authenticatedAt: null,
  key: { id: 'key-1', models: null, serviceAccount: null },
}

type Answer = () => Promise<FoundKey | null>

/** The answers of the database to queries for the key, in order; the last one repeats. */
function open(answers: readonly Answer[]) {
  const clock = testClock()
  const key = newApiKey()
  const queries: object[] = []
  const unknown = { refused: false, counted: [] as string[] }
  const states = openLiveStates({
    findAlive: () => Promise.resolve(new Set()),
    answerOrLastKnown: makeAnswerOrLastKnown(),
  })
  const identify = makeIdentifyKey({
    findKey(where) {
      queries.push(where)
      return (answers[queries.length - 1] ?? answers.at(-1) ?? nothing)()
    },
    states,
    unknownKeys: {
      refuse() {
        if (unknown.refused) throw new Error('too many')
      },
      count: (ip) => void unknown.counted.push(ip),
    },
    clock,
  })
  return { clock, key, queries, unknown, states, identify: async (sent = key) => identify(sent, '203.0.113.7') }
}

const found = (expiresAt = new Date(8.64e15), caller: Caller | null = CALLER) => ({ id: 'key-1', expiresAt, caller })
const alive: Answer = () => Promise.resolve(found())
const revoked: Answer = () => Promise.resolve(found(undefined, null))
const nothing: Answer = () => Promise.resolve(null)
const hangs: Answer = () => new Promise(() => {})
const fails: Answer = () => Promise.reject(new Error('unavailable'))

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'performance'] }))
afterEach(() => void vi.useRealTimers())

describe('the caller of an API key', () => {
  it('is looked up by the hash of the key, once for calls at the same time and for the next two seconds', async () => {
    const { identify, key, queries } = open([alive])
    expect(await Promise.all([identify(), identify()])).toEqual([CALLER, CALLER])
    vi.advanceTimersByTime(1999)
    expect(await identify()).toEqual(CALLER)
    expect(queries).toHaveLength(1)
    expect(JSON.stringify(queries)).not.toContain(key.reveal())
  })

  it('is served while it is queried again, and refused within five seconds of the revocation', async () => {
    const { identify } = open([alive, revoked])
    await identify()
    vi.advanceTimersByTime(2001)
    expect(await identify()).toEqual(CALLER)
    await vi.advanceTimersByTimeAsync(0)
    expect(await identify()).toBeNull()
  })

  it('is refused after four seconds without a call when the key was revoked', async () => {
    const { identify } = open([alive, revoked])
    await identify()
    vi.advanceTimersByTime(4001)
    expect(await identify()).toBeNull()
  })

  it('is refused at once when this process revokes the key', async () => {
    const { identify, states } = open([alive])
    await identify()
    states.end('key-1')
    expect(await identify()).toBeNull()
  })

  it('is refused when this process revokes the key while its first query is answered slowly', async () => {
    const answer = Promise.withResolvers<FoundKey>()
    const { identify, states } = open([() => answer.promise])
    const identified = identify()
    states.end('key-1')
    answer.resolve(found())
    expect([await identified, await identify()]).toEqual([null, null])
  })

  it('is refused within five seconds when another process revokes it during a slow first query', async () => {
    const answer = Promise.withResolvers<FoundKey>()
    const { identify } = open([() => answer.promise, revoked])
    const identified = identify()
    vi.advanceTimersByTime(3000)
    answer.resolve(found())
    expect(await identified).toEqual(CALLER)
    vi.advanceTimersByTime(1500)
    expect(await identify()).toBeNull()
  })

  it('is refused when the key expires, also while the database is unavailable', async () => {
    const clock = testClock()
    const end = new Date(clock.now().getTime() + 3_600_000)
    const opened = open([() => Promise.resolve(found(end)), fails])
    expect(await opened.identify()).toEqual(CALLER)
    opened.clock.advance({ seconds: 3599 })
    expect(await opened.identify()).toEqual(CALLER)
    opened.clock.advance({ seconds: 2 })
    vi.advanceTimersByTime(10_000)
    expect(await opened.identify()).toBeNull()
  })

  it('is refused when a rotation brought the end of the key forward', async () => {
    const { identify, clock } = open([alive, () => Promise.resolve(found(clock.now()))])
    await identify()
    vi.advanceTimersByTime(4001)
    expect(await identify()).toBeNull()
  })

  it('waits 100 ms at most for a database that does not answer', async () => {
    const { identify } = open([alive, hangs])
    await identify()
    vi.advanceTimersByTime(4500)
    const identified = identify()
    await vi.advanceTimersByTimeAsync(100)
    expect(await identified).toEqual(CALLER)
  })

  it('cannot be determined for an unknown key while the database is unavailable', async () => {
    await expect(open([fails]).identify()).rejects.toThrow('unavailable')
  })
})

describe('a key that the database does not know', () => {
  it('counts against its network, and is not looked up when the network is at its limit', async () => {
    const { identify, unknown, queries } = open([nothing])
    expect(await identify()).toBeNull()
    expect(unknown.counted).toEqual(['203.0.113.7'])
    unknown.refused = true
    await expect(identify()).rejects.toThrow('too many')
    expect(queries).toHaveLength(1)
  })

  it('does not count when it was revoked, and known keys are served at the limit', async () => {
    const { identify, unknown } = open([revoked])
    expect(await identify()).toBeNull()
    unknown.refused = true
    expect(await identify()).toBeNull()
    expect(unknown.counted).toEqual([])
  })

  it('is refused without a query when its checksum is wrong', async () => {
    const { identify, key, queries } = open([alive])
    const text = key.reveal()
    expect(await identify(new Secret(text.slice(0, -1) + (text.endsWith('A') ? 'B' : 'A')))).toBeNull()
    expect(queries).toEqual([])
  })
})
