import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { makeAuthRequests } from '../support/auth-requests.ts'
import { directoryOf, mailTokenOf } from '../support/people.ts'
import { startPostgres } from '../support/postgres.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import { refusedStart, startProcess } from '../support/process.ts'
import type { TestProcess } from '../support/process.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { atOnce, bearerOf, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { waitForValue, withDeadline } from '../support/wait.ts'

const ADA = 'ada@example.com'
const BOB = 'bob@example.com'
let postgres: TestPostgres

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

async function startOnPostgres(): Promise<TestService> {
  const url = await postgres.newDatabase()
  return startService({ directory: directoryOf([ADA, BOB]), database: await openDatabase({ kind: 'postgres', url }) })
}

/** Signs Ada in and starts another login for her; prepares a request of Bob for each route. */
async function prepareRequests(service: TestService) {
  const tokens = await service.signIn(ADA)
  const { deviceCode } = await service.startLogin(ADA, { deviceId: 'second' })
  const token = mailTokenOf(service, ADA)
  const refresh = () =>
    service.fetch('/v1/auth/token/refresh', json({ account: ADA, refreshToken: tokens.refreshToken }))
  const { reads, writes } = await makeAuthRequests(service, BOB)
  return { tokens, deviceCode, token, requests: { ...reads, ...writes }, refresh }
}

/** Sends all requests at once; returns those that were not answered 503. */
async function notUnavailable(requests: Record<string, () => Promise<Response>>): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(requests).map(async ([name, ask]) => {
      return { name, outcome: await outcomeOf(await withDeadline(name, ask())) }
    }),
  )
  return answers
    .filter(({ outcome }) => !/^503 (service|temporarily)_unavailable$/.test(outcome))
    .map(({ name, outcome }) => `${name}: ${outcome}`)
}

const health = async (service: TestService) => {
  const [alive, ready] = await Promise.all([service.fetch('/healthz'), service.fetch('/readyz')])
  return [alive.status, ready.status, (await ready.json()) as unknown]
}

describe('the control plane', () => {
  it('answers 503 while Postgres is frozen, and goes on where it was afterwards', async () => {
    await using service = await startOnPostgres()
    const { requests, refresh, tokens, token, deviceCode } = await prepareRequests(service)
    await postgres.freeze()
    try {
      expect(await notUnavailable(requests)).toEqual([])
      expect(await health(service)).toEqual([200, 503, { status: 'unavailable', database: 'unavailable' }])
      // The database is known to be unavailable now, so nothing waits for it: twenty waits would take half a minute.
      const startedAt = performance.now()
      for (let count = 0; count < 20; count++) expect(await outcomeOf(await refresh())).toBe('503 service_unavailable')
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      const refreshes = await atOnce(20, async () => outcomeOf(await refresh()))
      expect(tally(refreshes)).toEqual({ '503 service_unavailable': 20 })
    } finally {
      postgres.thaw()
    }

    await untilReady(service)
    const refreshed = await refresh()
    expect(await outcomeOf(refreshed)).toBe('200')
    const session = await service.database.prisma.deviceSession.findFirst({ where: { deviceId: tokens.deviceId } })
    expect(session?.revokedAt).toBeNull()
    const consumed = await outcomeOf(await service.fetch('/v1/auth/magic/consume', json({ token })))
    // Postgres may have done the frozen request after all, and then the link is used and the login approved.
    expect(['200', '401 unauthorized']).toContain(consumed)
    expect(await outcomeOf(await service.fetch('/v1/auth/device/poll', json({ deviceCode })))).toBe('200')
  })

  it('serves callers that are known to the gateway while Postgres is frozen', async () => {
    await using service = await startOnPostgres()
    const { accessToken } = await service.signIn(ADA)
    const models = async () => (await service.clientOf(accessToken).GET('/v1/models')).response.status
    expect(await models()).toBe(200)
    await postgres.freeze()
    try {
      // The state of a session is queried again after two seconds, and waited for after four.
      for (let count = 0; count < 3; count++) {
        await sleep(2100)
        expect(await models()).toBe(200)
      }
    } finally {
      postgres.thaw()
    }
    await untilReady(service)
  })

  it('answers 503 while Postgres is gone, and works after its restart', async () => {
    await using service = await startOnPostgres()
    const { requests, refresh } = await prepareRequests(service)
    await postgres.kill()
    try {
      expect(await notUnavailable(requests)).toEqual([])
      expect(await health(service)).toEqual([200, 503, { status: 'unavailable', database: 'unavailable' }])
    } finally {
      await postgres.restart()
    }
    await untilReady(service)
    expect(await outcomeOf(await refresh())).toBe('200')
  })

  it('answers at most 503 after Postgres ended all connections, and then uses new ones', async () => {
    await using service = await startOnPostgres()
    const { tokens } = await prepareRequests(service)
    const status = async () => (await service.fetch('/device', { headers: bearerOf(tokens.accessToken) })).status
    for (let times = 0; times < 5; times += 1) {
      await postgres.breakConnections()
      const seen: number[] = []
      // The pool notices each broken connection when it uses it next.
      await waitForValue('the answer', async () => seen[seen.push(await status()) - 1], 200)
      expect(seen.filter((one) => one !== 200 && one !== 503)).toEqual([])
    }
  })
})

describe('a process', () => {
  it('of a gateway ends after SIGTERM while Postgres is frozen', async () => {
    const url = await postgres.newDatabase()
    await using running = await startProcess({ SVC_DATABASE_URL: url.reveal(), SVC_ROLE: 'gateway' })
    await expectReadyAndEndWhileFrozen(running)
  })

  it('of both roles does too, and its start goes on when Postgres is lost for a moment after the migrations', async () => {
    await using proxy = await startCuttingProxy(2)
    await using running = await startProcess(proxy.env)
    expect(proxy.left()).toBe(0)
    await expectReadyAndEndWhileFrozen(running)
  })

  it('ends with a message when Postgres is lost for longer during its start', async () => {
    await using proxy = await startCuttingProxy(Infinity)
    const { code, stderr } = await refusedStart(proxy.env)
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The database was lost during the start: .* Check .*\n$/),
    ])
  })

  async function expectReadyAndEndWhileFrozen(running: TestProcess): Promise<void> {
    expect((await fetch(`${running.origin}/readyz`)).status).toBe(200)
    await postgres.freeze()
    try {
      const startedAt = performance.now()
      expect((await running.stop()).code).toBe(0)
      expect(performance.now() - startedAt).toBeLessThan(20_000)
    } finally {
      postgres.thaw()
    }
  }

  /** The first statement after the migrations. */
  const FIRST_STATEMENT = '"public"."signing_keys"'

  /** A proxy that cuts the first connections on which a service sends that statement. */
  async function startCuttingProxy(cuts: number) {
    const url = new URL((await postgres.newDatabase()).reveal())
    let left = cuts
    const proxy = await startTcpProxy([Number(url.port)], {
      inspect(from, bytes, connection) {
        if (from === 'target' || left === 0 || !bytes.includes(FIRST_STATEMENT)) return true
        left -= 1
        connection.cut()
        return false
      },
    })
    url.port = String(proxy.port)
    return Object.assign(proxy, { env: { SVC_DATABASE_URL: url.href }, left: () => left })
  }
})

/** Waits until Postgres answers again. */
function untilReady(service: TestService): Promise<void> {
  return waitForValue('/readyz', async () => (await service.fetch('/readyz')).status, 200)
}
