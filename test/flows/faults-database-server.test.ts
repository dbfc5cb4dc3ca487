import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { authRoutes } from '../support/auth-routes.ts'
import { directoryOf, mailTokenOf } from '../support/people.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { atOnce, json, outcomeOf, tally } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

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

/** Ada in the middle of a login and signed in, and Bob in the middle of everything. */
async function inTheMiddle(service: TestService) {
  const tokens = await service.signIn(ADA)
  const { deviceCode } = await service.startLogin(ADA, { deviceId: 'second' })
  const token = mailTokenOf(service, ADA)
  const refresh = () =>
    service.fetch('/v1/auth/token/refresh', json({ account: ADA, refreshToken: tokens.refreshToken }))
  const routes = await authRoutes(service, BOB)
  return { tokens, deviceCode, token, requests: { ...routes.reading, ...routes.writing }, refresh }
}

/** Asks everything at once; what was not answered 503 within three seconds. */
async function exceptions(requests: Record<string, () => Promise<Response>>): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(requests).map(async ([name, ask]) => {
      const started = performance.now()
      const outcome = await outcomeOf(await ask())
      return { name, outcome, seconds: (performance.now() - started) / 1000 }
    }),
  )
  return answers
    .filter(({ outcome, seconds }) => !/^503 (service|temporarily)_unavailable$/.test(outcome) || seconds > 3)
    .map(({ name, outcome, seconds }) => `${name}: ${outcome} after ${seconds.toFixed(1)} s`)
}

const health = async (service: TestService) => {
  const [alive, ready] = await Promise.all([service.fetch('/healthz'), service.fetch('/readyz')])
  return [alive.status, ready.status, (await ready.json()) as unknown]
}

describe('while the database', () => {
  it(
    'hangs, everything is 503 within three seconds; then all goes on as if nothing was',
    { timeout: 60_000 },
    async () => {
      await using service = await startOnPostgres()
      const { requests, refresh, tokens, token, deviceCode } = await inTheMiddle(service)
      await postgres.freeze()
      try {
        expect(await exceptions(requests)).toEqual([])
        expect(await health(service)).toEqual([200, 503, { status: 'unavailable', database: 'unavailable' }])
        // Who is known at the gateway stays known.
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
      // What hung may have been done all the same, and then the link is used and the login approved.
      expect(['200', '401 unauthorized']).toContain(consumed)
      expect(await outcomeOf(await service.fetch('/v1/auth/device/poll', json({ deviceCode })))).toBe('200')
    },
  )

  it('is gone, everything is 503 at once; when it is back, everything works', { timeout: 60_000 }, async () => {
    await using service = await startOnPostgres()
    const { requests, refresh } = await inTheMiddle(service)
    await postgres.kill()
    try {
      expect(await exceptions(requests)).toEqual([])
      expect(await health(service)).toEqual([200, 503, { status: 'unavailable', database: 'unavailable' }])
    } finally {
      await postgres.restart()
    }
    await untilReady(service)
    expect(await outcomeOf(await refresh())).toBe('200')
  })

  it('breaks every connection, nobody is told more than 503, and it is used again at once', async () => {
    await using service = await startOnPostgres()
    const { tokens } = await inTheMiddle(service)
    const status = async () =>
      (await service.fetch('/device', { headers: { authorization: `Bearer ${tokens.accessToken}` } })).status
    for (let times = 0; times < 5; times += 1) {
      await postgres.breakConnections()
      const seen: number[] = []
      // A pool notices each broken connection when it is next used.
      await expect.poll(async () => seen[seen.push(await status()) - 1]).toBe(200)
      expect(seen.filter((one) => one !== 200 && one !== 503)).toEqual([])
    }
  })
})

/** A server that was stopped needs a moment until it answers again. */
async function untilReady(service: TestService): Promise<void> {
  const deadline = performance.now() + 15_000
  while (performance.now() < deadline) {
    if ((await service.fetch('/readyz')).status === 200) return
  }
  throw new Error('The database did not come back.')
}
