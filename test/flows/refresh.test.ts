import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

type Pair = { readonly accessToken: string; readonly refreshToken: string }

/** A device that can refresh with any token that it ever had. */
async function device() {
  const email = persons.next()
  const first = await service.signIn(email)
  const ask = (refreshToken: string, headers: Record<string, string> = {}) =>
    service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken }, headers))
  const refresh = async (refreshToken: string) => (await (await ask(refreshToken)).json()) as Pair
  return { email, first, ask, refresh }
}

/** Whether anything of the session still works: its newest token, its access token at the control plane and at the gateway. */
async function isAlive(newest: Pair, ask: (refreshToken: string) => Promise<Response>): Promise<boolean[]> {
  const client = service.clientOf(newest.accessToken)
  const statuses = [
    (await client.GET('/device')).response.status,
    (await client.GET('/v1/models')).response.status,
    (await ask(newest.refreshToken)).status,
  ]
  return statuses.map((status) => status === 200)
}

const DEAD = [false, false, false]
const ALIVE = [true, true, true]

describe('a token that somebody uses a second time', () => {
  it('ends the family when half a minute has passed', async () => {
    const { first, ask, refresh } = await device()
    const second = await refresh(first.refreshToken)
    service.clock.advance({ seconds: 30, ms: 1 })
    expect(await outcomeOf(await ask(first.refreshToken))).toBe('401 unauthorized')
    expect(await isAlive(second, ask)).toEqual(DEAD)
  })

  it('ends the family when it is not the one before the newest', async () => {
    const { first, ask, refresh } = await device()
    const second = await refresh(first.refreshToken)
    const third = await refresh(second.refreshToken)
    expect(await outcomeOf(await ask(first.refreshToken))).toBe('401 unauthorized')
    expect(await isAlive(third, ask)).toEqual(DEAD)
  })

  it('ends the family when another client uses it, however soon', async () => {
    const { first, ask, refresh } = await device()
    const second = await refresh(first.refreshToken)
    expect(await outcomeOf(await ask(first.refreshToken, { 'user-agent': 'somebody else' }))).toBe('401 unauthorized')
    expect(await isAlive(second, ask)).toEqual(DEAD)
  })

  it('is in the audit and in the log', async () => {
    const { first, ask, refresh } = await device()
    await refresh(first.refreshToken)
    service.clock.advance({ seconds: 31 })
    await ask(first.refreshToken)
    const row = await service.database.prisma.auditEvent.findFirst({ orderBy: { id: 'desc' } })
    expect(row).toMatchObject({ kind: 'device_session.revoked', details: { reason: 'refresh_reuse' } })
    expect(service.log.at(-1)?.event === 'refresh_token.reused' || hasEvent('refresh_token.reused')).toBe(true)
  })

  const hasEvent = (name: string) => service.log.some(({ event }) => event === name)
})

it('a forged token ends nothing', async () => {
  const { first, ask } = await device()
  for (const forged of forgeries(first.refreshToken))
    expect(await outcomeOf(await ask(forged))).toBe('401 unauthorized')
  expect(await isAlive(first, ask)).toEqual(ALIVE)
})

it('a token that is ahead of a database restored from a copy is refused, and ends nothing', async () => {
  const { first, ask, refresh } = await device()
  const ahead = await refresh(first.refreshToken)
  await service.database.prisma.deviceSession.updateMany({ where: { generation: 1 }, data: { generation: 0 } })
  expect(await outcomeOf(await ask(ahead.refreshToken))).toBe('401 unauthorized')
  expect(await isAlive(first, ask)).toEqual(ALIVE)
})

it('a device that keeps refreshing stays signed in for ninety days and not longer', async () => {
  const { first, ask } = await device()
  let current: Pair = first
  for (let month = 1; month <= 4; month += 1) {
    service.clock.advance({ days: 22, seconds: 43_000 })
    const response = await ask(current.refreshToken)
    if (month === 4) {
      expect(response.status).toBe(200)
      service.clock.advance({ days: 1 })
      current = (await response.json()) as Pair
      expect(await outcomeOf(await ask(current.refreshToken))).toBe('410 expired')
    } else current = (await response.json()) as Pair
  }
})

/** The same session: another generation, another MAC, another key. */
function forgeries(token: string): string[] {
  const changed = (change: (bytes: Buffer) => void) => {
    const bytes = Buffer.from(token.slice('svcr_'.length), 'base64url')
    change(bytes)
    return `svcr_${bytes.toString('base64url')}`
  }
  return [
    changed((bytes) => bytes.writeUInt32BE(1, 18)),
    changed((bytes) => bytes.fill(0, 22)),
    changed((bytes) => bytes.writeUInt8(2, 1)),
    changed((bytes) => bytes.fill(0, 2, 18)),
    token.slice(0, -4),
  ]
}
