import { afterAll, beforeAll, expect, it } from 'vitest'
import { openDatabase } from '../../src/database/open.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { mailTokenOf, people } from '../support/people.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { bearerOf, form, json } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { startTcpProxy } from '../support/network/tcp-proxy.ts'
import type { TcpProxy } from '../support/network/tcp-proxy.ts'

const persons = people()
let postgres: TestPostgres
let proxy: TcpProxy
let service: TestService
/** Round trips to the database: how often the service sent something after an answer. */
let roundTrips = 0

beforeAll(async () => {
  postgres = await startPostgres()
  const url = new URL((await postgres.newDatabase()).reveal())
  const lastSender = new WeakMap<object, 'client' | 'target'>()
  proxy = await startTcpProxy([Number(url.port)], {
    inspect(from, _bytes, connection) {
      if (from === 'client' && lastSender.get(connection) !== 'client') roundTrips += 1
      lastSender.set(connection, from)
      return true
    },
  })
  url.port = String(proxy.port)
  const database = await openDatabase({ kind: 'postgres', url: new Secret(url.href) })
  service = await startService({ directory: persons.directory, database })
  // Opens the connections, so that the first case does not count their handshakes.
  await service.signIn(persons.next())
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

/** The round trips of a request that must succeed. */
async function tripsOf(send: () => Promise<Response>): Promise<number> {
  const before = roundTrips
  const response = await send()
  expect(response.ok).toBe(true)
  return roundTrips - before
}

function expectAtMost(counted: Record<string, number>, limits: Record<string, number>): void {
  const tooMany = Object.entries(counted).filter(([step, trips]) => trips > (limits[step] ?? 0))
  expect(tooMany, 'Round trips above the limit').toEqual([])
}

it('a login takes few round trips to the database, so that it works over a slow network', async () => {
  const email = persons.next()
  const startedTrips = roundTrips
  const { deviceCode } = await service.startLogin(email)
  const start = roundTrips - startedTrips
  const polling = roundTrips
  expect((await service.fetch('/v1/auth/device/poll', json({ deviceCode }))).status).toBe(428)
  const pending = roundTrips - polling
  const token = mailTokenOf(service, email)
  const show = await tripsOf(() => service.fetch(`/v1/auth/magic/consume?token=${token}`))
  const approve = await tripsOf(() => service.fetch('/v1/auth/magic/consume', form({ token })))
  const poll = await tripsOf(() => service.fetch('/v1/auth/device/poll', json({ deviceCode })))
  expectAtMost({ start, pending, show, approve, poll }, { start: 2, pending: 2, show: 1, approve: 2, poll: 3 })
})

it('a refresh and a look at the account take few round trips to the database', async () => {
  const email = persons.next()
  const { accessToken, refreshToken } = await service.signIn(email)
  const headers = bearerOf(accessToken)
  const look = await tripsOf(() => service.fetch('/device', { headers }))
  const refresh = await tripsOf(() => service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken })))
  expectAtMost({ look, refresh }, { look: 2, refresh: 2 })
})

it('a login succeeds with a round trip of 100 ms to the database', { timeout: 60_000 }, async () => {
  proxy.delayMs = 50
  const { account } = await service.signIn(persons.next())
  proxy.delayMs = 0
  expect(account).toMatch(/^person-\d+@example\.com$/)
})
