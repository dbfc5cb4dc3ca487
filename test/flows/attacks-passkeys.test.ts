import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePasskeyStore } from '../../src/control/passkeys/store.ts'
import {
  addPasskey,
  finishRegistration,
  finishSignIn,
  newAuthenticator,
  startRegistration,
  startSignIn,
} from '../support/passkeys.ts'
import { people } from '../support/people.ts'
import { REPLICA_SETS } from '../support/replicas.ts'
import type { Replicas } from '../support/replicas.ts'
import { bearerOf, atOnce, json, outcomeOf, tally } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { countWaiting, lockTable } from '../support/table-lock.ts'
import { waitUntil } from '../support/wait.ts'

/** One less for each of two processes than its connections to Postgres, so that nothing waits for one. */
const TIMES = 18

describe.each(REPLICA_SETS)('passkeys with %s', (_, start) => {
  const persons = people(12)
  let replicas: Replicas
  let first: TestService

  beforeAll(async () => {
    replicas = await start(persons.directory)
    first = replicas.first
  })
  afterAll(() => replicas[Symbol.asyncDispose]())

  const serviceFor = (index: number) => replicas.serviceFor(index)
  const passkeysOf = (email: string) => first.database.prisma.passkey.findMany({ where: { account: { email } } })
  const devicesOf = (email: string) =>
    first.database.prisma.deviceSession.findMany({ where: { invitation: { account: { email } }, login: null } })

  /** A person who is signed in. */
  async function signedInMember() {
    const email = persons.next()
    return { email, by: bearerOf((await first.signIn(email)).accessToken) }
  }
  /** A person with a passkey. */
  async function passkeyOwner(options: Parameters<typeof newAuthenticator>[0] = {}) {
    const { email, by } = await signedInMember()
    const authenticator = newAuthenticator(options)
    await addPasskey(first, by, authenticator)
    return { email, authenticator }
  }

  /**
   * Sends requests at once. On Postgres a lock makes sure that several have read the challenge before the first
   * spends it.
   */
  async function race(ask: (index: number) => Promise<string>): Promise<string[]> {
    const release = replicas.url && (await lockTable(replicas.url, 'webauthn_challenges', 'EXCLUSIVE'))
    const outcomes = atOnce(TIMES, ask)
    try {
      const waiting = () => countWaiting(first.database)
      if (release) await waitUntil('three requests to wait for the lock', waiting, (count) => count >= 3)
    } finally {
      // A lock that stays would fail all later tests.
      await release?.()
    }
    return outcomes
  }

  it('sign in once with an assertion that is sent many times at once', async () => {
    // A synced passkey has no counter, so only its challenge distinguishes a replay.
    const { email, authenticator } = await passkeyOwner({ signCounterIncrement: 0 })
    const credential = authenticator.get(await startSignIn(first))
    const outcomes = await race(async (index) => outcomeOf(await finishSignIn(serviceFor(index), credential)))
    expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': TIMES - 1 })
    expect(await devicesOf(email)).toHaveLength(1)
  })

  it('count one of two uses that have read the same counter', async () => {
    const { email } = await passkeyOwner()
    const passkeys = makePasskeyStore(first.database)
    const [row] = await passkeysOf(email)
    const read = await passkeys.findByCredential(row?.credentialId ?? '')
    if (!read) throw new Error('The passkey is missing.')
    const use = (counter: number) => passkeys.saveUse(read, { counter, backedUp: false }, first.clock.now())
    expect([await use(7), await use(8)]).toEqual([true, false])
  })

  it('keep one new passkey that is sent many times at once', async () => {
    const { email, by } = await signedInMember()
    const credential = newAuthenticator().create(await startRegistration(first, by))
    const outcomes = await race(async (index) => outcomeOf(await finishRegistration(serviceFor(index), by, credential)))
    expect(tally(outcomes)).toEqual({ '200': 1, '401 unauthorized': TIMES - 1 })
    const passkeys = await passkeysOf(email)
    expect(passkeys).toHaveLength(1)
    const where = { kind: 'passkey.added', subjectId: passkeys[0]?.id ?? '' }
    expect(await first.database.prisma.auditEvent.count({ where })).toBe(1)
  })

  it('keep one passkey of a credential that sixteen ceremonies of two accounts register at once', async () => {
    const members = [await signedInMember(), await signedInMember()]
    const made = newAuthenticator().create(await startRegistration(first, members[0]?.by ?? bearerOf('')))
    // Without attestation the challenge of a registration is not signed, so one answer can be changed into many.
    const outcomes = await atOnce(16, async (index) => {
      const by = members[index % 2]?.by ?? bearerOf('')
      const { challenge } = await startRegistration(first, by)
      return outcomeOf(await finishRegistration(serviceFor(index >> 1), by, withChallenge(made, challenge)))
    })
    expect(tally(outcomes)).toEqual({ '200': 1, '409 conflict': 15 })
    expect(await first.database.prisma.passkey.count({ where: { credentialId: made.id } })).toBe(1)
  })

  it('accept the challenges of two tabs at different processes, each once', async () => {
    const { authenticator } = await passkeyOwner()
    const [one, two] = [await startSignIn(serviceFor(0)), await startSignIn(serviceFor(1))]
    const [answerOne, answerTwo] = [authenticator.get(one), authenticator.get(two)]
    expect(await outcomeOf(await finishSignIn(serviceFor(1), answerOne))).toBe('200')
    expect(await outcomeOf(await finishSignIn(serviceFor(0), answerTwo))).toBe('200')
    for (const answer of [answerOne, answerTwo])
      for (const service of replicas.services)
        expect(await outcomeOf(await finishSignIn(service, answer))).toBe('401 unauthorized')
  })

  it('answer a start alike for addresses with a passkey, without one and unknown, in content and time', async () => {
    const withPasskey = (await passkeyOwner()).email
    const emails = [withPasskey, persons.next(), 'not-invited@example.com']
    const ask = (email: string) => first.fetch('/v1/auth/passkeys/login/start', json({ email }))
    const shapes = await Promise.all(emails.map(async (email) => shapeOf(await ask(email))))
    expect(shapes).toEqual([shapes[0], shapes[0], shapes[0]])

    const isAlike = (difference: number) => difference < 2
    // On a busy machine it takes long until each address has got an answer that nothing has delayed.
    const options = { timeoutMs: 150_000 }
    await waitUntil('times within 2 ms of each other', makeDifferenceOfTimes(emails, ask), isAlike, options)
  }, 180_000)
})

/**
 * Measures the largest difference between the answer times of these addresses, in milliseconds.
 *
 * The fastest of all answers so far counts, because other work on the machine can only make an answer slower. Each
 * measurement asks 30 times more.
 */
function makeDifferenceOfTimes(
  emails: readonly string[],
  ask: (email: string) => Promise<Response>,
): () => Promise<number> {
  const fastest = emails.map(() => Infinity)
  return async () => {
    for (let round = 0; round < 30; round += 1) {
      for (const [kind, email] of emails.entries()) {
        const startedAt = performance.now()
        await ask(email)
        fastest[kind] = Math.min(fastest[kind] ?? Infinity, performance.now() - startedAt)
      }
    }
    return Math.max(...fastest) - Math.min(...fastest)
  }
}

/** What a caller can compare between answers: status, headers, size, fields and the size of each. */
async function shapeOf(response: Response) {
  const text = await response.text()
  const body = JSON.parse(text) as Record<string, unknown>
  const headers = [...response.headers].filter(([name]) => !['date', 'request-id', 'x-request-id'].includes(name))
  const sizes = Object.entries(body).map(([name, value]) => [name, JSON.stringify(value).length])
  return { status: response.status, headers, bytes: Buffer.byteLength(text), sizes }
}

/** A registration whose client data has another challenge. */
function withChallenge<Made extends { readonly response: { readonly clientDataJSON: string } }>(
  made: Made,
  challenge: string,
): Made {
  const clientData = JSON.parse(Buffer.from(made.response.clientDataJSON, 'base64url').toString('utf8')) as object
  const clientDataJSON = Buffer.from(JSON.stringify({ ...clientData, challenge })).toString('base64url')
  return { ...made, response: { ...made.response, clientDataJSON } }
}
