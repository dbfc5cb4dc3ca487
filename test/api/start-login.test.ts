import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { people } from '../support/people.ts'
import { bytes, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const PATH = '/v1/auth/login/start'
const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

describe('startLogin', () => {
  it('202: starts a login like startDeviceLogin', async () => {
    const email = persons.next()
    const { data, response } = await service.client.POST(PATH, { body: { email, deviceId: 'old-client' } })
    expect(response.status).toBe(202)
    await service.approveByMail(email)

    const poll = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: data?.deviceCode ?? '' } })
    expect(poll.data).toMatchObject({ account: email, deviceId: 'old-client' })
  })

  it.each<[string, RequestInit]>([
    ['400 invalid_request', json({ email: 'person-1@example.com' })],
    ['403 not_invited', json({ email: 'nobody@example.com', deviceId: 'x' })],
    ['413 payload_too_large', json({ email: 'x'.repeat(17 * 1024), deviceId: 'x' })],
    ['415 unsupported_media_type', bytes('email=a', 'text/plain')],
  ])('%s: refuses the same requests as startDeviceLogin', async (outcome, init) => {
    expect(await outcomeOf(await service.fetch(PATH, init))).toBe(outcome)
  })

  it('503: answers email_unavailable without email delivery', async () => {
    await using silent = await startService({ mail: false })
    const response = await silent.fetch(PATH, json({ email: 'ada@example.com', deviceId: 'x' }))
    expect(await outcomeOf(response)).toBe('503 email_unavailable')
  })
})
