import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ARENAS } from '../support/arenas.ts'
import type { Arena } from '../support/arenas.ts'
import {
  addPasskey,
  bearer,
  finishRegistration,
  finishSignIn,
  newAuthenticator,
  startRegistration,
  startSignIn,
} from '../support/passkeys.ts'
import { people } from '../support/people.ts'
import { atOnce, json, outcomeOf, tally } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { lockTable } from '../support/table-lock.ts'
import { median, timesOf } from '../support/timing.ts'

const TIMES = 50

describe.each(ARENAS)('%s', (_, open) => {
  const persons = people(12)
  let arena: Arena
  let first: TestService

  beforeAll(async () => {
    arena = await open(persons.directory)
    first = arena.serviceFor(0)
  })
  afterAll(() => arena[Symbol.asyncDispose]())

  const serviceFor = (index: number) => arena.serviceFor(index)
  const passkeysOf = (email: string) => first.database.prisma.passkey.findMany({ where: { account: { email } } })
  const devicesOf = (email: string) =>
    first.database.prisma.deviceSession.findMany({ where: { invitation: { account: { email } }, login: null } })

  /** Somebody who is signed in. */
  async function member() {
    const email = persons.next()
    return { email, by: bearer((await first.signIn(email)).accessToken) }
  }
  /** Somebody with a passkey. */
  async function owner(options: Parameters<typeof newAuthenticator>[0] = {}) {
    const { email, by } = await member()
    const authenticator = newAuthenticator(options)
    await addPasskey(first, by, authenticator)
    return { email, authenticator }
  }

  /** Fifty at once; where the database can keep them, some have read their challenge before any of them spends it. */
  async function raced(ask: (index: number) => Promise<string>): Promise<string[]> {
    const lock = arena.url && (await lockTable(arena.url, 'webauthn_challenges', 'EXCLUSIVE'))
    const outcomes = atOnce(TIMES, ask)
    try {
      if (lock) await expect.poll(lock.waiting, { interval: 5 }).toBeGreaterThanOrEqual(3)
    } finally {
      // One that stays fails every test behind this one.
      await lock?.release()
    }
    return outcomes
  }

  it('one answer of a passkey, sent fifty times at once, signs in once', async () => {
    // A synced passkey has no counter, so nothing but its challenge can tell a copy of the answer from the answer.
    const { email, authenticator } = await owner({ signCounterIncrement: 0 })
    const credential = authenticator.get(await startSignIn(first))
    const outcomes = await raced(async (index) => outcomeOf(await finishSignIn(serviceFor(index), credential)))
    expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': TIMES - 1 })
    expect(await devicesOf(email)).toHaveLength(1)
  })

  it('one new passkey, sent fifty times at once, is kept once', async () => {
    const { email, by } = await member()
    const credential = newAuthenticator().create(await startRegistration(first, by))
    const outcomes = await raced(async (index) =>
      outcomeOf(await finishRegistration(serviceFor(index), by, credential)),
    )
    expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': TIMES - 1 })
    const passkeys = await passkeysOf(email)
    expect(passkeys).toHaveLength(1)
    const where = { kind: 'passkey.added', subjectId: passkeys[0]?.id ?? '' }
    expect(await first.database.prisma.auditEvent.count({ where })).toBe(1)
  })

  it('one credential that sixteen ceremonies of two accounts make at once is one passkey', async () => {
    const members = [await member(), await member()]
    const made = newAuthenticator().create(await startRegistration(first, members[0]?.by ?? bearer('')))
    // Without attestation nothing signs the challenge of a registration, so one answer makes many.
    const outcomes = await atOnce(16, async (index) => {
      const by = members[index % 2]?.by ?? bearer('')
      const { challenge } = await startRegistration(first, by)
      return outcomeOf(await finishRegistration(serviceFor(index >> 1), by, withChallenge(made, challenge)))
    })
    expect(tally(outcomes)).toEqual({ '200': 1, '409 conflict': 15 })
    expect(await first.database.prisma.passkey.count({ where: { credentialId: made.id } })).toBe(1)
  })

  it('a tab that starts later does not spend the challenge of an earlier one, also at another process; a used one is spent at both', async () => {
    const { authenticator } = await owner()
    const [one, two] = [await startSignIn(serviceFor(0)), await startSignIn(serviceFor(1))]
    const [answerOne, answerTwo] = [authenticator.get(one), authenticator.get(two)]
    expect(await outcomeOf(await finishSignIn(serviceFor(1), answerOne))).toBe('200')
    expect(await outcomeOf(await finishSignIn(serviceFor(0), answerTwo))).toBe('200')
    for (const answer of [answerOne, answerTwo])
      for (const service of arena.services)
        expect(await outcomeOf(await finishSignIn(service, answer))).toBe('401 unauthorized')
  })

  it('whether an address is known, or has a passkey, shows neither in the answer to a start nor in its time', async () => {
    const withPasskey = (await owner()).email
    const emails = [withPasskey, persons.next(), 'nobody-there@example.com']
    const ask = (email: string) => first.fetch('/v1/auth/passkeys/login/start', json({ email }))
    const shapes = await Promise.all(emails.map(async (email) => shapeOf(await ask(email))))
    expect(shapes).toEqual([shapes[0], shapes[0], shapes[0]])

    // Chance makes a difference now and then on a busy machine; one that is there is there each time.
    await expect.poll(() => spreadOf(emails, ask), { timeout: 15_000 }).toBeLessThan(2)
  })
})

/** How far apart the middle times of these are, in milliseconds. */
async function spreadOf(emails: readonly string[], ask: (email: string) => Promise<Response>): Promise<number> {
  const times: number[][] = emails.map(() => [])
  // In turn, so that what slows the machine slows each of them.
  for (let round = 0; round < 30; round += 1)
    for (const [kind, email] of emails.entries()) times[kind]?.push(...(await timesOf(1, () => ask(email))))
  const medians = times.map(median)
  return Math.max(...medians) - Math.min(...medians)
}

/** Whatever of an answer somebody could compare: status, headers, size, fields and the size of each. */
async function shapeOf(response: Response) {
  const text = await response.text()
  const body = JSON.parse(text) as Record<string, unknown>
  const headers = [...response.headers].filter(([name]) => !['date', 'request-id', 'x-request-id'].includes(name))
  const sizes = Object.entries(body).map(([name, value]) => [name, JSON.stringify(value).length])
  return { status: response.status, headers, bytes: Buffer.byteLength(text), sizes }
}

/** A registration as its authenticator would have answered this challenge. */
function withChallenge<Made extends { readonly response: { readonly clientDataJSON: string } }>(
  made: Made,
  challenge: string,
): Made {
  const said = JSON.parse(Buffer.from(made.response.clientDataJSON, 'base64url').toString('utf8')) as object
  const clientDataJSON = Buffer.from(JSON.stringify({ ...said, challenge })).toString('base64url')
  return { ...made, response: { ...made.response, clientDataJSON } }
}
