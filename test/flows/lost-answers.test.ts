import { afterAll, beforeAll, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const refresh = async (account: string, refreshToken: string) => {
  const { data, error } = await service.client.POST('/v1/auth/token/refresh', { body: { account, refreshToken } })
  return data ?? error.error.code
}

it('a poll whose answer was lost gives the same refresh token again, and a good access token each time', async () => {
  const email = persons.next()
  const { deviceCode } = await service.startLogin(email)
  await service.approveByMail(email)
  const poll = async () => (await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })).data

  const lost = await poll()
  service.clock.advance({ seconds: 30 })
  const again = await poll()
  expect(again?.refreshToken).toBe(lost?.refreshToken)
  expect(again?.accessToken).not.toBe(lost?.accessToken)
  for (const tokens of [lost, again])
    expect((await service.clientOf(tokens?.accessToken ?? '').GET('/device')).response.status).toBe(200)
  expect(await service.database.prisma.deviceSession.count({ where: { revokedAt: null, login: { id: {} } } })).toBe(1)
})

it('a refresh whose answer was lost gives the same successor again for half a minute', async () => {
  const email = persons.next()
  const { refreshToken } = await service.signIn(email)
  const lost = await refresh(email, refreshToken)
  service.clock.advance({ seconds: 5 })
  const again = await refresh(email, refreshToken)
  service.clock.advance({ seconds: 25 })
  const last = await refresh(email, refreshToken)

  const successor = expect.objectContaining({ refreshToken: (lost as { refreshToken: string }).refreshToken })
  expect(again).toEqual(successor)
  expect(last).toEqual(successor)
  expect(await refresh(email, (lost as { refreshToken: string }).refreshToken)).toHaveProperty('accessToken')
})

it('a device that never got its tokens starts again on the same device without trouble', async () => {
  const email = persons.next()
  const { deviceCode } = await service.startLogin(email)
  await service.approveByMail(email)
  await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  const tokens = await service.signIn(email)
  expect(await refresh(email, tokens.refreshToken)).toHaveProperty('refreshToken')
})
