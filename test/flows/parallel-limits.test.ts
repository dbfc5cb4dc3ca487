import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { directoryOf } from '../support/people.ts'
import { startPostgres, withoutStatementTimeout } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { hasRedis, startRedis, waitForRedis } from '../support/redis.ts'
import { atOnce, bearerOf, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { countWaiting, lockTable } from '../support/table-lock.ts'
import { waitUntil } from '../support/wait.ts'

const TIMES = 12
/** Fewer than the connections to the database, so that each of them can wait for a table. */
const REQUESTS = 9
const ADA = 'ada@example.com'

async function guess(service: TestService, accessToken: string): Promise<string> {
  const headers = bearerOf(accessToken)
  return outcomeOf(await service.fetch('/device', json({ userCode: 'BCDF-GHJK' }, headers)))
}

async function start(service: TestService, email: string): Promise<string> {
  return outcomeOf(await service.fetch('/v1/auth/device/start', json({ email, deviceId: 'laptop-1' })))
}

/** A service and its database. */
type OnPostgres = { readonly url: Secret; readonly service: TestService }

/** Sends requests that all wait for a table after their limits have been checked; the outcomes, once it is free again. */
async function whileLocked(
  { url, service }: OnPostgres,
  table: string,
  send: (index: number) => Promise<string>,
): Promise<string[]> {
  const release = await lockTable(url, table, 'ACCESS EXCLUSIVE')
  let answered = 0
  const outcomes = atOnce(REQUESTS, async (index) => {
    const outcome = await send(index)
    answered += 1
    return outcome
  })
  const isStuck = (waiting: number) => waiting + answered === REQUESTS
  try {
    await waitUntil('every request to wait or be answered', () => countWaiting(service.database), isStuck)
  } finally {
    await release()
  }
  return outcomes
}

describe('parallel requests', () => {
  let postgres: TestPostgres

  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres[Symbol.asyncDispose]())

  async function onPostgres(env: Record<string, string>): Promise<OnPostgres> {
    const url = withoutStatementTimeout(await postgres.newDatabase())
    const service = await startService({ env, database: await openDatabase({ kind: 'postgres', url }) })
    return { url, service }
  }

  it('have at most the limit of wrong user codes looked up', async () => {
    const started = await onPostgres({ SVC_LIMIT_USER_CODES: '5' })
    await using service = started.service
    const { accessToken } = await service.signIn(ADA)
    const outcomes = await whileLocked(started, 'device_logins', () => guess(service, accessToken))
    expect(tally(outcomes)).toEqual({ '404 not_found': 5, '429 rate_limited': REQUESTS - 5 })
  })

  it('learn of at most the limit of addresses that are not invited', async () => {
    const started = await onPostgres({ SVC_LIMIT_STARTS_PER_IP: '9' })
    await using service = started.service
    const outcomes = await whileLocked(started, 'invitations', (index) =>
      start(service, `unknown-${index}@example.com`),
    )
    expect(tally(outcomes)).toEqual({ '403 not_invited': 3, '429 rate_limited': REQUESTS - 3 })
  })

  it('use up no tries with codes that are right', async () => {
    await using service = await startService({ env: { SVC_LIMIT_USER_CODES: '5' } })
    const { accessToken } = await service.signIn(ADA)
    for (let count = 0; count < 8; count++) {
      const { userCode } = await service.startLogin(ADA, { deviceId: `device-${count}` })
      const headers = bearerOf(accessToken)
      expect((await service.fetch('/device', json({ userCode }, headers))).status).toBe(200)
    }
  })

  it.skipIf(!hasRedis)('pass no limit on two processes that share Redis: user codes and emails', async () => {
    using _ = waitForRedis()
    await using redis = await startRedis()
    const env = {
      SVC_REDIS_URL: redis.url,
      SVC_LIMIT_USER_CODES: '5',
      SVC_LIMIT_MAILS_PER_ADDRESS: '5',
    }
    const directory = directoryOf([ADA, 'grace@example.com'])
    await using one = await startService({ directory, env })
    await using other = await startService({ directory, env })
    for (const { log } of [one, other])
      await waitUntil(
        'the connection to Redis',
        () => log.map(({ event }) => event),
        (events) => events.includes('redis.connected'),
      )
    const tokens = [await one.signIn(ADA), await other.signIn(ADA)] as const
    // Each service has a database of its own, so the sessions differ; the network is the same, with six times the number.
    const guesses = await atOnce(2 * TIMES, (index) =>
      index % 2 ? guess(one, tokens[0].accessToken) : guess(other, tokens[1].accessToken),
    )
    expect(tally(guesses)['404 not_found']).toBe(10)

    const starts = await atOnce(TIMES, (index) => start(index % 2 ? one : other, 'grace@example.com'))
    expect(tally(starts)).toEqual({ '202': 5, '429 rate_limited': TIMES - 5 })
  })
})
