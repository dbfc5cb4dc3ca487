import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePasskeyStore } from '../../src/control/passkeys/store.ts'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import type { Authenticator } from '../support/passkeys.ts'
import { mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { bearerOf, expectData, expectOk, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

const startRegistration = (accessToken: string) =>
  service.fetch('/v1/auth/passkeys/register/start', json({}, bearerOf(accessToken)))

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
  await addPasskey(service, bearerOf(accessToken), newAuthenticator())
  service.clock.advance({ seconds: 14 * 60 })
  expect((await startRegistration(accessToken)).status).toBe(200)
  service.clock.advance({ seconds: 61 })
  expect(await outcomeOf(await startRegistration(accessToken))).toMatch(/^(401 unauthorized|403 reauthenticate)$/)
})

describe('an owner who did not sign in a device', () => {
  /** An account with a passkey of its owner, and a device of a thief who added two passkeys. */
  async function robbed() {
    const email = persons.next()
    const first = await service.signIn(email, { deviceId: 'laptop' })
    const own = newAuthenticator()
    await addPasskey(service, bearerOf(first.accessToken), own, 'Mine')
    service.clock.advance({ seconds: 60 })
    const thief = await service.signIn(email, { deviceId: 'thief' })
    const stolen = newAuthenticator()
    await addPasskey(service, bearerOf(thief.accessToken), stolen, 'Work phone')
    await addPasskey(service, bearerOf(thief.accessToken), newAuthenticator(), 'Tablet')
    const cookie = await signInBrowser(service, email)
    const devices = await service.clientOf(first.accessToken).GET('/v1/devices')
    const thiefSession = devices.data?.devices.find(({ deviceId }) => deviceId === 'thief')?.id ?? ''
    return { email, own, stolen, cookie, thief, thiefSession }
  }
  const page = async (cookie: string) =>
    (await service.fetch('/device', { headers: { cookie, accept: 'text/html' } })).text()
  const disown = (cookie: string, sessionId: string) =>
    service.fetch('/device', form({ action: 'disown-device', sessionId }, { cookie }))
  const signIn = async (authenticator: Authenticator) => (await signInWithPasskey(service, authenticator)).status

  it('sees the passkeys added since it signed in, and removes them and every other session in one step', async () => {
    const { email, own, stolen, cookie, thief, thiefSession } = await robbed()
    const before = (await page(cookie)).replaceAll(/\s+/g, ' ')
    expect(before).toContain('Added after it signed in:')
    expect(before.split('<form').filter((part) => part.includes(thiefSession) && part.includes('disown'))).toHaveLength(
      1,
    )

    const answer = await disown(cookie, thiefSession)
    expect([answer.status, await answer.text()]).toEqual([
      200,
      expect.stringContaining('passkeys and keys that were added since'),
    ])
    expect([await signIn(own), await signIn(stolen)]).toEqual([200, 401])
    expect((await service.clientOf(thief.accessToken).GET('/device')).response.status).toBe(401)
    expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(200)

    expect(await service.mailbox.waitFor(email, 'A passkey was removed', 2)).toHaveLength(2)
    expect(await service.database.prisma.auditEvent.count({ where: { kind: 'passkey.removed' } })).toBe(2)
  })

  it('removes them also when the thief has signed the device in again since', async () => {
    const { own, stolen, cookie, thiefSession } = await robbed()
    service.clock.advance({ seconds: 60 })
    await expectOk('The sign-in', signInWithPasskey(service, stolen, { deviceId: 'thief' }))
    const listed = await (await service.fetch('/v1/devices', { headers: { cookie } })).json()
    const { devices } = listed as { devices: { id: string; deviceId: string }[] }
    const again = devices.find(({ deviceId }) => deviceId === 'thief')?.id ?? ''
    expect(again).not.toBe(thiefSession)
    expect(
      (await page(cookie)).split('<form').filter((part) => part.includes(again) && part.includes('disown')),
    ).toHaveLength(1)
    expect((await disown(cookie, again)).status).toBe(200)
    expect([await signIn(own), await signIn(stolen)]).toEqual([200, 401])
  })

  it('can do the same over the API, which says how many there were', async () => {
    const { cookie, thiefSession } = await robbed()
    const body = { scope: 'all', unknownDevice: thiefSession }
    const answer = await service.fetch('/v1/auth/logout-everywhere', json(body, { cookie }))
    expect(await answer.json()).toEqual({ ok: true, devices: 5, passkeys: 2, apiKeys: 0 })
  })

  it('needs a fresh sign-in, so that a stolen token cannot remove the passkeys of its owner', async () => {
    const { own, thief, thiefSession } = await robbed()
    service.clock.advance({ seconds: 14 * 60 })
    const refresh = await service.client.POST('/v1/auth/token/refresh', {
      body: { account: thief.account, refreshToken: thief.refreshToken },
    })
    service.clock.advance({ seconds: 61 })
    const headers = bearerOf(expectData('The refresh', refresh).accessToken)
    const request = service.fetch('/v1/auth/logout-everywhere', json({ unknownDevice: thiefSession }, headers))
    expect(await outcomeOf(await request)).toBe('403 reauthenticate')
    expect(await signIn(own)).toBe(200)
  })

  it('cannot name a device of another account', async () => {
    const { cookie } = await robbed()
    const { thiefSession: foreign } = await robbed()
    const answer = await service.fetch('/v1/auth/logout-everywhere', json({ unknownDevice: foreign }, { cookie }))
    expect(await outcomeOf(answer)).toBe('404 not_found')
    expect((await disown(cookie, foreign)).status).toBe(404)
  })

  it('is not left with a passkey whose registration was under way', async () => {
    const { cookie, thiefSession } = await robbed()
    const { prisma } = service.database
    const session = await prisma.deviceSession.findUniqueOrThrow({
      where: { id: thiefSession },
      include: { invitation: true },
    })
    await disown(cookie, thiefSession)
    const { accountId } = session.invitation
    const ids = { accountId, sessionId: thiefSession, sessionKind: 'device' } as const
    const owner = { ...ids, authenticatedAt: null, ip: '203.0.113.7' }
    const late = { counter: 0n, transports: [], deviceType: 'singleDevice', backedUp: false }
    const made = { ...late, credentialId: 'late', publicKey: new Uint8Array(32) }
    const added = makePasskeyStore({ prisma }).add(owner, made, 'Late', service.clock.now())
    await expect(added).rejects.toMatchObject({ code: 'unauthorized' })
    expect(await prisma.passkey.count({ where: { credentialId: 'late' } })).toBe(0)
  })
})
