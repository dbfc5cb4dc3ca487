import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TokenSet } from '../../generated/sdk/index.js'
import { openDatabase } from '../../src/database/open.ts'
import { fingerprintOf } from '../../src/control/tokens/fingerprint.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { makeAuthRequests } from '../support/auth-requests.ts'
import { startCuttingProxy } from '../support/network/cutting-proxy.ts'
import type { Cut, CuttingProxy } from '../support/network/cutting-proxy.ts'
import { countNewDeviceMails } from '../support/notices.ts'
import { mailTokenOf, people } from '../support/people.ts'
import { fillPool, startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { atOnce, bearerOf, expectJson, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { lockTable } from '../support/table-lock.ts'
import { withDeadline } from '../support/wait.ts'

const persons = people()
let postgres: TestPostgres
let proxy: CuttingProxy
let service: TestService
let direct: Secret

beforeAll(async () => {
  postgres = await startPostgres()
  direct = await postgres.newDatabase()
  proxy = await startCuttingProxy(direct)
  service = await startService({
    directory: persons.directory,
    database: await openDatabase({ kind: 'postgres', url: proxy.url }),
  })
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await postgres.stop()
})

const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  service.fetch(path, json(body, headers))
const consume = (token: string) => post('/v1/auth/magic/consume', { token })
const poll = (deviceCode: string) => post('/v1/auth/device/poll', { deviceCode })
const refresh = (account: string, refreshToken: string) =>
  post('/v1/auth/token/refresh', { account, refreshToken }, { 'user-agent': 'refreshing-client' })
const tokensOf = (response: Response) => expectJson<TokenSet>('The poll or refresh', response)

async function started(email = persons.next()) {
  const { deviceCode } = await service.startLogin(email)
  return { email, deviceCode, token: mailTokenOf(service, email) }
}
async function approved() {
  const login = await started()
  expect((await consume(login.token)).status).toBe(200)
  return login
}
const sessionsOf = (email: string) =>
  service.database.prisma.deviceSession.findMany({ where: { invitation: { account: { email } } } })
const browsersOf = (email: string) =>
  service.database.prisma.browserSession.count({ where: { invitation: { account: { email } } } })
const auditOf = (email: string, kind: string) =>
  service.database.prisma.auditEvent.findMany({ where: { kind } }).then(async (events) => {
    const { id } = await service.database.prisma.account.findUniqueOrThrow({ where: { email } })
    return events.filter(({ accountId }) => accountId === id).length
  })

/** What only the statement contains that takes effect: a transaction's COMMIT, or a value that it writes. */
const WRITES = {
  start: 'started-device',
  approval: 'device_login.approved',
  refresh: fingerprintOf('refreshing-client', '127.0.0.1'),
  session: 'device_session.opened',
  completion: 'surplus',
  transaction: 'COMMIT',
} as const

/** The outcome of a request whose connection to the database is cut at the statement that takes effect. */
async function cutDuring(write: keyof typeof WRITES, when: Cut, ask: () => Promise<Response>): Promise<string> {
  const cut = proxy.cutNext(WRITES[write], when)
  const [response] = await Promise.all([ask(), cut])
  return outcomeOf(response)
}

describe.each([['before' as const], ['after' as const]])('a database connection that is cut %s the write', (when) => {
  const isDone = when === 'after'

  it('of an approval is answered 503, is done or not done, and the device gets its tokens', async () => {
    const { email, token, deviceCode } = await started()
    expect(await cutDuring('approval', when, () => consume(token))).toBe('503 service_unavailable')

    const [login] = await service.database.prisma.deviceLogin.findMany({
      where: { invitation: { account: { email } } },
    })
    expect(login).toMatchObject(isDone ? { status: 'approved' } : { status: 'pending', mailUsedAt: null })
    expect(await browsersOf(email)).toBe(isDone ? 1 : 0)
    expect(await auditOf(email, 'device_login.approved')).toBe(isDone ? 1 : 0)
    // A used link is refused, also for a caller who did not receive the answer.
    expect(await outcomeOf(await consume(token))).toBe(isDone ? '401 unauthorized' : '200')
    expect(await outcomeOf(await poll(deviceCode))).toBe('200')
    expect(await browsersOf(email)).toBe(1)
    expect(await auditOf(email, 'device_login.approved')).toBe(1)
  })

  it('of a first poll is answered 503, and the next poll has the same session and one email', async () => {
    const { email, deviceCode } = await approved()
    expect(await cutDuring('session', when, () => poll(deviceCode))).toBe('503 service_unavailable')

    const [made] = await sessionsOf(email)
    expect(made !== undefined).toBe(isDone)
    const tokens = await tokensOf(await poll(deviceCode))
    const sessions = await sessionsOf(email)
    expect(sessions).toMatchObject([{ revokedAt: null, generation: 0 }])
    if (made) expect(sessions[0]?.id).toBe(made.id)
    expect((await tokensOf(await poll(deviceCode))).refreshToken).toBe(tokens.refreshToken)
    expect((await service.clientOf(tokens.accessToken).GET('/v1/models')).response.status).toBe(200)
    expect(await outcomeOf(await refresh(email, tokens.refreshToken))).toBe('200')
    expect(await countNewDeviceMails([service], email)).toBe(1)
  })

  it('of the completion of a first poll is answered 503, and the next poll has the same session', async () => {
    const { email, deviceCode } = await approved()
    expect(await cutDuring('completion', when, () => poll(deviceCode))).toBe('503 service_unavailable')

    const [made] = await sessionsOf(email)
    expect(made).toMatchObject({ revokedAt: null, noticeTakenAt: isDone ? expect.any(Date) : null })
    const tokens = await tokensOf(await poll(deviceCode))
    expect(await sessionsOf(email)).toMatchObject([{ id: made?.id, revokedAt: null, generation: 0 }])
    expect(await outcomeOf(await refresh(email, tokens.refreshToken))).toBe('200')
    // Better no email than two.
    expect(await countNewDeviceMails([service], email)).toBe(isDone ? 0 : 1)
  })

  it('of a refresh is answered 503, and the same token then gets one successor', async () => {
    const email = persons.next()
    const { refreshToken } = await service.signIn(email)
    expect(await cutDuring('refresh', when, () => refresh(email, refreshToken))).toBe('503 service_unavailable')
    expect(await sessionsOf(email)).toMatchObject([{ generation: isDone ? 1 : 0, revokedAt: null }])

    const successors = await Promise.all([refresh(email, refreshToken), refresh(email, refreshToken)])
    expect(successors.map(({ status }) => status)).toEqual([200, 200])
    const [one, other] = await Promise.all(successors.map(tokensOf))
    expect(one?.refreshToken).toBe(other?.refreshToken)
    expect(await sessionsOf(email)).toMatchObject([{ generation: 1, revokedAt: null }])
    expect(await outcomeOf(await refresh(email, one?.refreshToken ?? ''))).toBe('200')
  })

  it('of one of twenty concurrent refreshes is answered 503, and the others get one successor', async () => {
    const email = persons.next()
    const { refreshToken } = await service.signIn(email)
    const cut = proxy.cutNext(WRITES.refresh, when)
    const answers = await atOnce(20, () => refresh(email, refreshToken))
    await cut
    const counted = tally(answers.map(({ status }) => String(status)))
    expect(counted).toEqual({ '200': 19, '503': 1 })
    const tokens = await Promise.all(answers.filter(({ ok }) => ok).map(tokensOf))
    expect(new Set(tokens.map((pair) => pair.refreshToken)).size).toBe(1)
    expect(await sessionsOf(email)).toMatchObject([{ generation: 1, revokedAt: null }])
  })

  it('of a start is answered 503 without an email, and the next start works', async () => {
    const email = persons.next()
    const mails = () => service.mailbox.mails.filter(({ to }) => to.includes(email)).length
    const body = { email, deviceId: WRITES.start }
    expect(await cutDuring('start', when, () => post('/v1/auth/device/start', body))).toBe('503 service_unavailable')
    expect(mails()).toBe(0)
    expect((await service.signIn(email)).account).toBe(email)
  })

  it('of a sign-out is answered 503, and the next sign-out ends the session', async () => {
    const email = persons.next()
    const { accessToken, refreshToken } = await service.signIn(email)
    const signOut = () => post('/v1/auth/logout', {}, bearerOf(accessToken))
    expect(await cutDuring('transaction', when, signOut)).toBe('503 service_unavailable')
    expect(await outcomeOf(await signOut())).toBe('200')
    expect(await outcomeOf(await refresh(email, refreshToken))).toBe('401 unauthorized')
    expect((await service.clientOf(accessToken).GET('/v1/models')).response.status).toBe(401)
  })
})

describe('while all database connections wait for a lock', () => {
  it('answers control plane requests with 503, serves known callers, and recovers afterwards', async () => {
    const email = persons.next()
    const { accessToken, refreshToken } = await service.signIn(email)
    const other = persons.next()
    const { deviceCode, token } = await started(other)
    const models = async () => (await service.clientOf(accessToken).GET('/v1/models')).response
    expect((await models()).status).toBe(200)

    const known: Timed[] = []
    const release = await lockTable(direct, 'device_sessions', 'ACCESS EXCLUSIVE')
    try {
      const auth = timed({
        // More than there are connections, so that all connections wait for the lock.
        ...Object.fromEntries(
          Array.from({ length: 20 }, (_, index) => [`refresh ${index}`, () => refresh(email, refreshToken)]),
        ),
        poll: () => poll(deviceCode),
        start: () => post('/v1/auth/device/start', { email: persons.next(), deviceId: 'laptop-1' }),
        'consume a link': () => consume(token),
        'a passkey’s start': () => post('/v1/auth/passkeys/login/start', {}),
        'device status': () => service.fetch('/device', { headers: bearerOf(accessToken) }),
      })
      const state = { isOver: false }
      void auth.finally(() => (state.isOver = true))
      while (!state.isOver) {
        known.push(...(await withDeadline('a known caller to be answered', timed({ models }))))
        await sleep(20)
      }
      const answered = await auth
      expect(tooSlow(answered)).toEqual([])
      const refused = answered.filter(
        ({ outcome }) => !/^(200|202|428 authorization_pending|503 service_unavailable)$/.test(outcome),
      )
      expect(refused).toEqual([])
      expect(answered.filter(({ name, outcome }) => name.startsWith('refresh') && outcome === '200')).toEqual([])
    } finally {
      await release()
    }
    expect(known.filter(({ outcome }) => outcome !== '200')).toEqual([])
    expect(Math.min(...known.map(({ ms }) => ms))).toBeLessThan(SHORTEST_WAIT_MS)

    expect((await service.fetch('/readyz')).status).toBe(200)
    expect(await outcomeOf(await refresh(email, refreshToken))).toBe('200')
    expect(await sessionsOf(email)).toMatchObject([{ generation: 1, revokedAt: null }])
  })
})

describe('a request of the control plane', () => {
  /** The tables that requests write first. An EXCLUSIVE lock blocks writes and lets reads pass. */
  const WRITTEN_TABLES = [
    'accounts',
    'device_logins',
    'device_sessions',
    'browser_sessions',
    'webauthn_challenges',
    'passkeys',
  ]
  const isUnavailable = ({ outcome }: Timed) => /^503 (service|temporarily)_unavailable$/.test(outcome)

  it('is answered 503 when it waits for a connection, again for a connection, and then for a lock', async () => {
    const { reads, writes } = await makeAuthRequests(service, persons.next())
    await fillPool(service.database)
    const releases = await Promise.all(WRITTEN_TABLES.map((table) => lockTable(direct, table, 'EXCLUSIVE')))
    try {
      const used = occupyConnections(10, 0.8)
      const answered = await timed({ ...reads, ...writes })
      await used
      expect(tooSlow(answered)).toEqual([])
      expect(answered.filter(({ name }) => name in writes).filter((answer) => !isUnavailable(answer))).toEqual([])
      expect(answered.filter((answer) => answer.outcome !== '200' && !isUnavailable(answer))).toEqual([])
      // Each request had to wait for a connection first.
      expect(answered.filter(({ ms }) => ms < SHORTEST_WAIT_MS)).toEqual([])
    } finally {
      await Promise.all(releases.map((release) => release()))
    }
    const answered = await timed(reads)
    expect(answered.filter(({ outcome }) => outcome !== '200')).toEqual([])
  })
})

/** Keeps connections of the service busy for some seconds. */
function occupyConnections(count: number, seconds: number) {
  return atOnce(count, () => service.database.prisma.$queryRaw`SELECT 1 FROM pg_sleep(${seconds})`)
}

/** A request that waits for a connection or a lock takes at least this long. */
const SHORTEST_WAIT_MS = 700

type Timed = { readonly name: string; readonly outcome: string; readonly ms: number }

/**
 * The answers that took longer than their waits: 0.8 s until connections are free, then at most 2.4 s for a connection
 * and 1.3 s for a lock. The rest is for a busy machine.
 */
function tooSlow(answered: readonly Timed[]): Timed[] {
  return answered.filter(({ ms }) => ms > 8000)
}

/** Sends all requests at once. */
function timed(requests: Readonly<Record<string, () => Promise<Response>>>): Promise<Timed[]> {
  return Promise.all(
    Object.entries(requests).map(async ([name, ask]) => {
      const startedAt = performance.now()
      const outcome = await outcomeOf(await ask())
      return { name, outcome, ms: performance.now() - startedAt }
    }),
  )
}
