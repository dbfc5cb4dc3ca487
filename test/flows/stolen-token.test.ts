import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, bearer, newAuthenticator } from '../support/passkeys.ts'
import { mailTokenOf, people } from '../support/people.ts'
import { form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const startRegistration = (accessToken: string) =>
  service.fetch('/v1/auth/passkeys/register/start', json({}, { authorization: `Bearer ${accessToken}` }))

/** Starts a login of a thief's device and approves it by its code with a stolen access token. */
async function loginOfThief(email: string, stolenToken: string) {
  const { deviceCode, userCode } = await service.startLogin(email, { deviceId: 'thief' })
  const mailToken = mailTokenOf(service, email)
  const approved = await service.clientOf(stolenToken).POST('/device', { body: { userCode } })
  expect(approved.response.status).toBe(200)
  return { deviceCode, mailToken }
}

async function poll(deviceCode: string): Promise<string> {
  const { data, error } = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
  if (!data) throw new Error(`The poll was refused: ${JSON.stringify(error)}`)
  return data.accessToken
}

describe('a device that a stolen token approved by its code', () => {
  it('needs a fresh sign-in to add a passkey, also after its owner clicked the link of the email', async () => {
    const email = persons.next()
    const { accessToken: stolen } = await service.signIn(email, { deviceId: 'victim' })
    const { deviceCode, mailToken } = await loginOfThief(email, stolen)
    const thief = await poll(deviceCode)
    expect(await outcomeOf(await startRegistration(thief))).toBe('403 reauthenticate')

    const clicked = await service.fetch('/v1/auth/magic/consume', json({ token: mailToken }))
    expect(clicked.status).toBe(200)
    expect(await outcomeOf(await startRegistration(thief))).toBe('403 reauthenticate')
  })

  it('needs one also when the click came before its first poll', async () => {
    const email = persons.next()
    const { accessToken: stolen } = await service.signIn(email, { deviceId: 'victim' })
    const { deviceCode, mailToken } = await loginOfThief(email, stolen)
    await service.fetch('/v1/auth/magic/consume', form({ token: mailToken }))
    expect(await outcomeOf(await startRegistration(await poll(deviceCode)))).toBe('403 reauthenticate')
  })
})

it('lets a device that the link of the email approved add a passkey for fifteen minutes', async () => {
  const { accessToken } = await service.signIn(persons.next())
  await addPasskey(service, bearer(accessToken), newAuthenticator())
  service.clock.advance({ seconds: 14 * 60 })
  expect((await startRegistration(accessToken)).status).toBe(200)
  service.clock.advance({ seconds: 61 })
  expect(await outcomeOf(await startRegistration(accessToken))).toMatch(/^(401 unauthorized|403 reauthenticate)$/)
})
