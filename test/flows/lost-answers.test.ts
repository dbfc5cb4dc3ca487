import { afterAll, beforeAll, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { expectData } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const refresh = async (account: string, refreshToken: string) =>
  expectData('The refresh', await service.client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } }))
const poll = async (deviceCode: string) =>
  expectData('The poll', await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } }))

it('replays the same refresh token, with a new access token, when the answer of a poll was lost', async () => {
  const email = persons.next()
  const { deviceCode } = await service.startLogin(email)
  await service.approveByMail(email)

  const lost = await poll(deviceCode)
  service.clock.advance({ seconds: 30 })
  const again = await poll(deviceCode)
  expect(again.refreshToken).toBe(lost.refreshToken)
  expect(again.accessToken).not.toBe(lost.accessToken)
  for (const tokens of [lost, again])
    expect((await service.clientOf(tokens.accessToken).GET('/device')).response.status).toBe(200)
  expect(await service.database.prisma.deviceSession.count({ where: { revokedAt: null, login: { id: {} } } })).toBe(1)
})

it('replays the same successor for 30 seconds when the answer of a refresh was lost', async () => {
  const email = persons.next()
  const { refreshToken } = await service.signIn(email)
  const lost = await refresh(email, refreshToken)
  service.clock.advance({ seconds: 5 })
  const again = await refresh(email, refreshToken)
  service.clock.advance({ seconds: 25 })
  const last = await refresh(email, refreshToken)

  expect(again.refreshToken).toBe(lost.refreshToken)
  expect(last.refreshToken).toBe(lost.refreshToken)
  expect(await refresh(email, lost.refreshToken)).toHaveProperty('accessToken')
})

it('signs a device in again when it never received its tokens', async () => {
  const email = persons.next()
  const { deviceCode } = await service.startLogin(email)
  await service.approveByMail(email)
  await poll(deviceCode)
  const tokens = await service.signIn(email)
  expect(await refresh(email, tokens.refreshToken)).toHaveProperty('refreshToken')
})
