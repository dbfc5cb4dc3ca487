import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SIGN_IN_SUBJECT, linkOf } from '../support/mailbox.ts'
import { addPasskey, newAuthenticator, startRegistration } from '../support/passkeys.ts'
import { cookiesOf, people, signInBrowser, tokenOf } from '../support/people.ts'
import { bearerOf, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { consumeSignInLink } from '../support/sign-in-links.ts'

const persons = people()
const ADMIN = 'admin@example.com'
let service: TestService

beforeAll(async () => {
  const directory = persons.directory.replace('members: [', `members: [{ email: ${ADMIN}, role: admin }, `)
  service = await startService({ directory, env: { SVC_ACCESS_TOKEN_SECONDS: '3600' } })
})
afterAll(() => service[Symbol.asyncDispose]())

const QUARTER_HOUR = { seconds: 901 }
const register = async (by: Record<string, string>) =>
  outcomeOf(await service.fetch('/v1/auth/passkeys/register/start', json({}, by)))
const page = async (cookie: string) =>
  (await service.fetch('/device', { headers: { cookie, accept: 'text/html' } })).text()
const confirmByEmail = (by: Record<string, string>) => service.fetch('/device', form({ action: 'confirm-email' }, by))

async function newestLink(email: string): Promise<string> {
  const mail = (await service.mailbox.waitFor(email, SIGN_IN_SUBJECT)).at(-1)
  return mail ? tokenOf(linkOf(mail)) : ''
}

describe('a browser that signed in more than 15 minutes ago', () => {
  it('adds a passkey after the person confirmed by email', async () => {
    const email = persons.next()
    const cookie = await signInBrowser(service, email)
    await addPasskey(service, { cookie }, newAuthenticator(), 'First')
    expect(await page(cookie)).not.toContain('Confirm that it is you')
    service.clock.advance(QUARTER_HOUR)

    expect(await register({ cookie })).toBe('403 reauthenticate')
    const stale = await page(cookie)
    expect(stale).toContain('value="confirm-email"')
    expect(stale.replaceAll(/\s+/g, ' ')).toContain('making admins and changing backends needs a confirmation')
    expect(stale).toContain('Confirm with a passkey')
    expect(stale).not.toContain('value="delete-passkey"')

    const sent = await confirmByEmail({ cookie })
    expect([sent.status, await sent.text()]).toEqual([200, expect.stringContaining(email)])
    expect(await register({ cookie })).toBe('403 reauthenticate')
    const confirmed = await consumeSignInLink(service, await newestLink(email), { cookie })
    const fresh = cookiesOf(confirmed)
    expect((await startRegistration(service, { cookie: fresh })).excludeCredentials).toHaveLength(1)
    expect(await page(fresh)).not.toContain('Confirm that it is you')
    expect((await service.fetch('/device', { headers: { cookie } })).status).toBe(401)
  })

  it.each(['keys', 'members'])('leads an admin back to /teams/acme/core/%s after the confirmation', async (name) => {
    const path = `/teams/acme/core/${name}`
    const cookie = await signInBrowser(service, ADMIN)
    await addPasskey(service, { cookie }, newAuthenticator(), 'Of the admin')
    service.clock.advance(QUARTER_HOUR)
    const show = async (shown: string) =>
      (await service.fetch(shown, { headers: { cookie, accept: 'text/html' } })).text()
    const [, link = ''] = /href="(\/device\?[^"]*)#confirm"/.exec(await show(path)) ?? []
    const confirming = await show(link)
    const [, page = ''] = /name="page" value="([^"]*)"/.exec(confirming) ?? []
    expect(confirming).toContain(`data-then="${page}"`)
    const asked = await service.fetch('/device', form({ action: 'confirm-email', page }, { cookie }))
    await service.mailbox.waitFor(ADMIN, SIGN_IN_SUBJECT)
    const confirmed = await consumeSignInLink(service, await newestLink(ADMIN), { cookie: cookiesOf(asked) })
    expect(confirmed.headers.get('location')).toBe(path)
  })

  it('is led to no page of another site by the address of the confirmation', async () => {
    const cookie = await signInBrowser(service, persons.next())
    service.clock.advance(QUARTER_HOUR)
    const address = `/device?page=${encodeURIComponent('//evil.example/teams')}`
    const shown = await service.fetch(address, { headers: { cookie, accept: 'text/html' } })
    expect(await shown.text()).not.toContain('evil.example')
  })

  it('is not asked for a passkey that the account does not have', async () => {
    const cookie = await signInBrowser(service, persons.next())
    service.clock.advance(QUARTER_HOUR)
    expect(await page(cookie)).toContain('Confirm by email')
    expect(await page(cookie)).not.toContain('Confirm with a passkey')
  })

  it('is told where to sign in again by the API too', async () => {
    const cookie = await signInBrowser(service, persons.next())
    service.clock.advance(QUARTER_HOUR)
    const refused = await service.fetch('/v1/auth/passkeys/register/start', json({}, { cookie }))
    expect(await refused.json()).toMatchObject({ auth: { page: 'http://localhost:8787/device' } })
  })
})

describe('a stolen access token', () => {
  it('gets no fresh sign-in from an email that it caused, also when the owner opens its link', async () => {
    const email = persons.next()
    const stolen = bearerOf((await service.signIn(email)).accessToken)
    service.clock.advance(QUARTER_HOUR)
    expect((await confirmByEmail(stolen)).status).toBe(200)
    expect((await consumeSignInLink(service, await newestLink(email))).status).toBe(303)
    expect(await register(stolen)).toBe('403 reauthenticate')
  })
})
