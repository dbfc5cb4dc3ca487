import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { directoryOf, mailTokenOf, people } from '../support/people.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { hasRedis, startRedis, waitForRedis } from '../support/redis.ts'
import type { TestRedis } from '../support/redis.ts'
import { atOnce, bearerOf, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { answersJson, startUpstream, streams } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'
import { waitForValue, withDeadline } from '../support/wait.ts'

let postgres: TestPostgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres[Symbol.asyncDispose]())

const members = people(8)
const directory = members.directory
  .replace('models: [svc/fast]', 'models: [svc/fast, vendora/large]')
  .concat('  - { id: vendora/large, displayName: Large, owner: vendora }\n')

/** Starts a service of this role with its own connections to the database. */
async function startRole(url: Secret, role: string, env: Record<string, string> = {}): Promise<TestService> {
  const database = await openDatabase({ kind: 'postgres', url })
  return startService({ database, directory, env: { SVC_ROLE: role, ...env } })
}

describe('two control planes and two gateways on one Postgres', () => {
  let upstream: TestUpstream
  let url: Secret
  let control: readonly [TestService, TestService]
  let gateways: readonly [TestService, TestService]

  beforeAll(async () => {
    upstream = await startUpstream()
    url = await postgres.newDatabase()
    const env = { SVC_VENDORA_UPSTREAM_URL: upstream.url.href }
    // At once on an empty database, so that one of them makes the migrations, the directory and the keys.
    const [first, second, third, fourth] = await Promise.all([
      startRole(url, 'control-plane'),
      startRole(url, 'control-plane'),
      startRole(url, 'gateway', env),
      startRole(url, 'gateway', env),
    ])
    control = [first, second]
    gateways = [third, fourth]
  })
  beforeEach(() => upstream.restart(answersJson(completion)))
  afterAll(async () => {
    await Promise.all([...control, ...gateways].map((service) => service[Symbol.asyncDispose]()))
    await upstream[Symbol.asyncDispose]()
  })

  const completion = {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'vendora/large',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!', refusal: null }, finish_reason: 'stop' }],
  }
  const call = (gateway: TestService, token: string, more: object = {}, headers: Record<string, string> = {}) =>
    gateway.fetch(
      '/v1/chat/completions',
      json(
        { model: 'vendora/large', messages: [{ role: 'user', content: 'Hi' }], ...more },
        { authorization: `Bearer ${token}`, ...headers },
      ),
    )
  const keysOf = async (service: TestService) => (await service.fetch('/.well-known/jwks.json')).json()

  it('share one set of signing keys after a concurrent start', async () => {
    expect(await keysOf(control[0])).toEqual(await keysOf(control[1]))
  })

  it('share a login that is started on one, approved and polled on the other, and used at both gateways', async () => {
    const email = members.next()
    const { deviceCode } = await control[0].startLogin(email)
    const approved = await control[1].fetch('/v1/auth/magic/consume', json({ token: mailTokenOf(control[0], email) }))
    expect(approved.status).toBe(200)
    const polled = await Promise.all(
      control.map((service) => service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })),
    )
    expect(polled.map(({ response }) => response.status)).toEqual([200, 200])
    // Both polls belong to the same session.
    expect(new Set(polled.map(({ data }) => data?.refreshToken)).size).toBe(1)
    const token = polled[0]?.data?.accessToken ?? ''
    for (const gateway of gateways) expect((await call(gateway, token)).status).toBe(200)
  })

  it('close the open streams of a session that ends at another process, and refuse it from then on', async () => {
    const { accessToken } = await control[0].signIn(members.next())
    upstream.restart(streams(['data: {"choices":[]}\n\n'], { end: 'stalls' }))
    const opened = await Promise.all(gateways.map((gateway) => call(gateway, accessToken, { stream: true })))
    expect(opened.map(({ status }) => status)).toEqual([200, 200])
    const ended = opened.map((response) =>
      response.text().then(
        () => 'complete',
        () => 'cut off',
      ),
    )

    const headers = bearerOf(accessToken)
    expect((await control[1].fetch('/v1/auth/logout', { method: 'POST', headers })).status).toBe(200)
    expect(await withDeadline('both streams to end', Promise.all(ended))).toEqual(['cut off', 'cut off'])
    for (const gateway of gateways) expect(await outcomeOf(await call(gateway, accessToken))).toBe('401 unauthorized')
  })

  it.each<[string, (email: string) => Promise<unknown>]>([
    [
      'is signed out',
      (email) =>
        control[0].database.prisma.deviceSession.updateMany({
          where: { invitation: { account: { email } } },
          data: { revokedAt: control[0].clock.now() },
        }),
    ],
    [
      'loses its invitation',
      (email) =>
        control[0].database.prisma.invitation.updateMany({
          where: { account: { email } },
          data: { revokedAt: control[0].clock.now() },
        }),
    ],
  ])('refuse the first call of a session that %s before', async (_, end) => {
    const email = members.next()
    const { accessToken } = await control[0].signIn(email)
    await end(email)
    for (const gateway of gateways) expect(await outcomeOf(await call(gateway, accessToken))).toBe('401 unauthorized')
  })

  it('refresh a session once for concurrent requests to both', async () => {
    const { account, refreshToken } = await control[0].signIn(members.next())
    const refreshed = await atOnce(6, (index) =>
      (control[index % 2] ?? control[0]).client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } }),
    )
    expect(tally(refreshed.map(({ response }) => String(response.status)))).toEqual({ 200: 6 })
    expect(new Set(refreshed.map(({ data }) => data?.refreshToken)).size).toBe(1)
  })

  it('write the events of one session with growing ids, so that a reader misses none', async () => {
    const { accessToken } = await control[0].signIn(members.next())
    const headers = { 'x-svc-session-id': 'run-1' }
    const { prisma } = gateways[0].database
    const seen: bigint[] = []
    const poll = async () => {
      const where = { sessionId: 'run-1', id: { gt: seen.at(-1) ?? 0n } }
      const rows = await prisma.callEvent.findMany({ where, orderBy: { id: 'asc' }, select: { id: true } })
      seen.push(...rows.map(({ id }) => id))
    }
    await atOnce(40, async (index) => {
      const gateway = gateways[index % 2] ?? gateways[0]
      await (await call(gateway, accessToken, {}, headers)).text()
      await poll()
    })
    await waitForValue('the ids of all events', () => poll().then(() => new Set(seen).size), 80)
    expect(await prisma.callEvent.count({ where: { sessionId: 'run-1' } })).toBe(80)
  })

  it('apply concurrent directories one after another', async () => {
    const directoryWith = (email: string) => directoryOf([email, 'stays@example.com'])
    const rounds = await atOnce(6, (index) =>
      (control[index % 2] ?? control[0]).applyDirectory(directoryWith(`only-${index % 2}@example.com`)).then(
        () => 'applied',
        (error: unknown) => String(error),
      ),
    )
    expect(tally(rounds)).toEqual({ applied: 6 })
    const active = await control[0].database.prisma.invitation.findMany({
      where: { revokedAt: null, team: { name: 'core' } },
      select: { account: { select: { email: true } } },
    })
    const emails = active.map(({ account }) => account.email).sort()
    expect([
      ['only-0@example.com', 'stays@example.com'],
      ['only-1@example.com', 'stays@example.com'],
    ]).toContainEqual(emails)
    await control[0].applyDirectory(directory)
  })
})

if (!hasRedis)
  process.stderr.write('redis-server is not on PATH, so the tests of limits that several gateways share are skipped.\n')

describe.skipIf(!hasRedis)('the limits of two gateways on one Redis', () => {
  let redis: TestRedis
  let gateways: TestService[] = []
  let waiting: Disposable

  beforeEach(async () => {
    waiting = waitForRedis()
    redis = await startRedis()
    const url = await postgres.newDatabase()
    const env = { SVC_REDIS_URL: redis.url, SVC_LIMIT_REQUESTS_PER_MINUTE: '4' }
    gateways = await Promise.all([startRole(url, 'gateway', env), startRole(url, 'gateway', env)])
    // Before that, each gateway counts alone.
    const areConnected = () => gateways.every(({ log }) => log.some(({ event }) => event === 'redis.connected'))
    await waitForValue('both gateways to connect to Redis', areConnected, true)
  })
  afterEach(async () => {
    await Promise.all(gateways.map((service) => service[Symbol.asyncDispose]()))
    await redis[Symbol.asyncDispose]()
    waiting[Symbol.dispose]()
  })

  /** Sends requests to the gateways alternately; the number of answers by outcome. */
  const ask = async (times: number) =>
    tally(
      await atOnce(times, async (index) => {
        const gateway = gateways[index % gateways.length]
        return gateway ? outcomeOf(await gateway.fetch('/v1/models')) : 'none'
      }),
    )

  it('are counted together', async () => {
    expect(await ask(12)).toEqual({ '401 unauthorized': 4, '429 rate_limited': 8 })
  })

  it('are counted by each gateway while Redis cannot be reached', async () => {
    await redis.stop()
    expect(await withDeadline('answers without Redis', ask(12))).toEqual({
      '401 unauthorized': 8,
      '429 rate_limited': 4,
    })
  })

  it('are counted together again after Redis has restarted', async () => {
    await redis.stop()
    await ask(2)
    await redis.restart()
    await waitForValue('both gateways to refuse', () => ask(2), { '429 rate_limited': 2 }, { intervalMs: 200 })
  })

  it('are refused with Retry-After', async () => {
    await ask(8)
    const response = await gateways[0]?.fetch('/v1/models')
    const seconds = Number(response?.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(60)
  })
})
