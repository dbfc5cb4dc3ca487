import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TokenSet } from '../../generated/sdk/index.js'
import { makeDeviceSessionStore } from '../../src/control/tokens/store.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import { people } from '../support/people.ts'
import { expectJson, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

/** A signed-in device; `refresh` rejects when it is refused, `ask` does not. */
async function signedInDevice() {
  const email = persons.next()
  const first = await service.signIn(email)
  const ask = (refreshToken: string, headers: Record<string, string> = {}) =>
    service.fetch('/v1/auth/token/refresh', json({ account: email, refreshToken }, headers))
  const refresh = async (refreshToken: string) => expectJson<TokenSet>('The refresh', ask(refreshToken))
  return { email, first, ask, refresh }
}

/** Whether a session works: its access token at the control plane and at the gateway, and its newest refresh token. */
async function whatWorks(newest: TokenSet, ask: (refreshToken: string) => Promise<Response>): Promise<boolean[]> {
  const client = service.clientOf(newest.accessToken)
  const statuses = [
    (await client.GET('/device')).response.status,
    (await client.GET('/v1/models')).response.status,
    (await ask(newest.refreshToken)).status,
  ]
  return statuses.map((status) => status === 200)
}

const NOTHING = [false, false, false]
const EVERYTHING = [true, true, true]

it('a refresh token that is newer than a restored database is refused, logged, and ends no session', async () => {
  const { first, ask, refresh } = await signedInDevice()
  const second = await refresh(first.refreshToken)
  const { prisma } = service.database
  // Restore the session as it was before the refresh.
  const [session] = await prisma.deviceSession.findMany({ orderBy: { createdAt: 'desc' }, take: 1 })
  await prisma.deviceSession.updateMany({ where: { id: session?.id ?? '' }, data: { generation: 0, rotatedAt: null } })

  expect(await outcomeOf(await ask(second.refreshToken))).toBe('401 unauthorized')
  expect(service.log.filter(({ event }) => event === 'refresh_token.ahead_of_session')).toEqual([
    {
      level: 'warn',
      event: 'refresh_token.ahead_of_session',
      fields: { sessionId: session?.id, accountId: expect.any(String), generation: 0, tokenGeneration: 1 },
    },
  ])
  expect(await whatWorks(first, ask)).toEqual(EVERYTHING)
})

describe('a refresh token that is used again', () => {
  it('ends the session after the replay window of 30 seconds', async () => {
    const { first, ask, refresh } = await signedInDevice()
    const second = await refresh(first.refreshToken)
    service.clock.advance({ seconds: 30, ms: 1 })
    expect(await outcomeOf(await ask(first.refreshToken))).toBe('401 unauthorized')
    expect(await whatWorks(second, ask)).toEqual(NOTHING)
  })

  it('ends the session when its successor was used too', async () => {
    const { first, ask, refresh } = await signedInDevice()
    const second = await refresh(first.refreshToken)
    const third = await refresh(second.refreshToken)
    expect(await outcomeOf(await ask(first.refreshToken))).toBe('401 unauthorized')
    expect(await whatWorks(third, ask)).toEqual(NOTHING)
  })

  it('ends the session when another client uses it, also within the replay window', async () => {
    const { first, ask, refresh } = await signedInDevice()
    const second = await refresh(first.refreshToken)
    expect(await outcomeOf(await ask(first.refreshToken, { 'user-agent': 'another client' }))).toBe('401 unauthorized')
    expect(await whatWorks(second, ask)).toEqual(NOTHING)
  })

  it('is written to the audit and to the log', async () => {
    const { first, ask, refresh } = await signedInDevice()
    await refresh(first.refreshToken)
    service.clock.advance({ seconds: 31 })
    expect(await outcomeOf(await ask(first.refreshToken))).toBe('401 unauthorized')
    const row = await service.database.prisma.auditEvent.findFirst({ orderBy: { id: 'desc' } })
    expect(row).toMatchObject({ kind: 'device_session.revoked', details: { reason: 'refresh_reuse' } })
    expect(service.log.map(({ event }) => event)).toContain('refresh_token.reused')
  })
})

it('ends no session by a forged refresh token', async () => {
  const { first, ask } = await signedInDevice()
  for (const forged of forgeries(first.refreshToken))
    expect(await outcomeOf(await ask(forged))).toBe('401 unauthorized')
  expect(await whatWorks(first, ask)).toEqual(EVERYTHING)
})

it('refuses a token that is newer than a restored database, and keeps the session', async () => {
  const { first, ask, refresh } = await signedInDevice()
  const ahead = await refresh(first.refreshToken)
  await service.database.prisma.deviceSession.updateMany({ where: { generation: 1 }, data: { generation: 0 } })
  expect(await outcomeOf(await ask(ahead.refreshToken))).toBe('401 unauthorized')
  expect(await whatWorks(first, ask)).toEqual(EVERYTHING)
})

describe('a refresh that the database receives', () => {
  const sessions = () => makeDeviceSessionStore(service.database)
  const next = () => {
    const now = service.clock.now()
    return { rotatedAt: now, ip: '127.0.0.1', idleExpiresAt: addSeconds(now, 60), fingerprint: 'late' }
  }
  async function readSession(email: string) {
    const where = { invitation: { account: { email } } }
    const { id, invitationId } = await service.database.prisma.deviceSession.findFirstOrThrow({ where })
    const found = await sessions().find(id)
    if (!found) throw new Error('The session is missing.')
    return { ...found, invitationId }
  }

  it('more than five seconds after it read the session changes nothing', async () => {
    const { email, first, refresh } = await signedInDevice()
    const found = await readSession(email)
    const late = { ...found, readAt: addSeconds(found.readAt, -6) }
    expect(await sessions().rotate(late, next())).toBe(false)
    expect((await sessions().find(found.id))?.generation).toBe(0)
    expect(await refresh(first.refreshToken)).toHaveProperty('refreshToken')
  })

  it.each(['session', 'invitation'])('after the %s has ended changes nothing', async (ended) => {
    const found = await readSession((await signedInDevice()).email)
    const { prisma } = service.database
    const revokedAt = service.clock.now()
    if (ended === 'session') await prisma.deviceSession.update({ where: { id: found.id }, data: { revokedAt } })
    else await prisma.invitation.update({ where: { id: found.invitationId }, data: { revokedAt } })
    expect(await sessions().rotate(found, next())).toBe(false)
    expect((await sessions().find(found.id))?.generation).toBe(0)
  })
})

it('keeps a device that refreshes signed in for 90 days and not longer', async () => {
  const { first, ask } = await signedInDevice()
  let current: TokenSet = first
  for (let month = 1; month <= 4; month += 1) {
    service.clock.advance({ days: 22, seconds: 43_000 })
    const response = await ask(current.refreshToken)
    if (month === 4) {
      expect(response.status).toBe(200)
      service.clock.advance({ days: 1 })
      current = (await response.json()) as TokenSet
      expect(await outcomeOf(await ask(current.refreshToken))).toBe('410 expired')
    } else current = await expectJson<TokenSet>('The refresh', response)
  }
})

/** Changes of a refresh token: another generation, MAC, key or session, and a truncated one. */
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
