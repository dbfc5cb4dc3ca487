import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator } from '../support/passkeys.ts'
import { cookiesOf, mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { form, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

/** Somebody in a browser. */
async function somebody(email = persons.next()) {
  const cookie = await signInBrowser(service, email)
  const post = (fields: Record<string, string>) => service.fetch('/device', form(fields, { cookie }))
  const get = (query = '') => service.fetch(`/device${query}`, { headers: { accept: 'text/html', cookie } })
  const waiting = async (deviceName = 'Kitchen laptop') => {
    const login = await service.startLogin(email, { deviceId: 'waiting', deviceName })
    const poll = async () =>
      (await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })).response.status
    return { ...login, poll }
  }
  return { email, cookie, post, get, waiting }
}

/** The status of an answer and the words that the page has for what was done. */
async function said(response: Response): Promise<string> {
  expect(response.headers.get('content-type')).toMatch(/^text\/html/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-frame-options')).toBe('DENY')
  const notice = /<p class="notice[^>]*>[^]*?<span>([^]*?)<\/span>/.exec(await response.clone().text())?.[1]
  return `${response.status} ${notice ?? ''}`.replaceAll(/\s+/g, ' ').trim()
}

describe('GET /device for a person', () => {
  it('shows who is signed in, the devices and a filled-in code that it does not look up', async () => {
    const { email, get } = await somebody()
    const response = await get('?userCode=BCDF-GHJK&next=https://evil.example')
    expect(await said(response)).toBe('200')
    const page = await response.text()
    expect(page).toContain(email)
    expect(page).toContain('value="BCDF-GHJK"')
    expect(page).not.toContain('evil.example')
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
  })

  it('shows somebody who is not signed in the ways in, and keeps the code', async () => {
    const response = await service.fetch('/device?userCode=BCDF-GHJK', { headers: { accept: 'text/html' } })
    expect(response.status).toBe(401)
    const page = await response.text()
    expect(page).toContain('Sign in to see your devices')
    expect(page).toContain('userCode=BCDF-GHJK')
  })

  it('shows a page for an address that cannot be read', async () => {
    const { get } = await somebody()
    const response = await get(`?userCode=${'x'.repeat(33)}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
  })
})

describe('approving by code', () => {
  it('finds the login, shows it, and changes nothing', async () => {
    const { post, waiting } = await somebody()
    const { userCode, poll } = await waiting('<b>Kitchen</b>')
    const response = await post({ action: 'find', userCode: userCode.toLowerCase() })
    expect(await said(response)).toBe('200')
    const page = await response.text()
    expect(page).toContain('&lt;b&gt;Kitchen&lt;/b&gt;')
    expect(page).toContain(userCode)
    expect(await poll()).toBe(428)
  })

  it('approves', async () => {
    const { post, waiting } = await somebody()
    const { userCode, poll } = await waiting()
    expect(await said(await post({ action: 'approve', userCode }))).toMatch(/^200 Approved\./)
    expect(await poll()).toBe(200)
  })

  it('denies, and says so to whoever is too late to approve', async () => {
    const { post, waiting } = await somebody()
    const { userCode, poll } = await waiting()
    expect(await said(await post({ action: 'deny', userCode }))).toMatch(/^200 Denied\./)
    expect(await said(await post({ action: 'approve', userCode }))).toMatch(/^409 This sign-in was denied before/)
    expect(await said(await post({ action: 'find', userCode }))).toMatch(/^409 /)
    expect(await poll()).toBe(403)
  })

  it('says to whoever is too late to deny that it was approved', async () => {
    const { post, waiting } = await somebody()
    const { userCode } = await waiting()
    await post({ action: 'approve', userCode })
    expect(await said(await post({ action: 'deny', userCode }))).toMatch(/^409 This sign-in was approved before/)
  })

  it('does not know the code of somebody else', async () => {
    const [mine, theirs] = [await somebody(), await somebody()]
    const { userCode, poll } = await theirs.waiting()
    expect(await said(await mine.post({ action: 'approve', userCode }))).toBe(
      await said(await mine.post({ action: 'approve', userCode: 'BCDF-GHJK' })),
    )
    expect(await poll()).toBe(428)
  })

  it('says that a code’s time is over', async () => {
    await using own = await startService()
    const cookie = await signInBrowser(own, 'ada@example.com')
    const { userCode } = await own.startLogin('ada@example.com')
    own.clock.advance({ seconds: 600 })
    const response = await own.fetch('/device', form({ action: 'approve', userCode }, { cookie }))
    expect(await said(response)).toMatch(/^410 This code has expired/)
  })
})

describe('the link in the mail of a device that was approved by its code', () => {
  const open = (token: string) =>
    service.fetch(`/v1/auth/magic/consume?token=${token}`, { headers: { accept: 'text/html' } })

  it('has nothing to compare any more, says so, and still signs its reader in', async () => {
    const { email, post, waiting } = await somebody()
    const { userCode, poll } = await waiting()
    const token = mailTokenOf(service, email)
    await post({ action: 'approve', userCode })
    for (const _ of ['before and', 'after the device has its tokens']) {
      const response = await open(token)
      expect(response.status).toBe(200)
      const page = await response.text()
      expect(page).toContain('<h1>Already approved</h1>')
      expect(page).toContain('Kitchen laptop')
      expect(page).not.toMatch(/class="code"|value="deny"/)
      await poll()
    }
    const consumed = await service.fetch('/v1/auth/magic/consume', form({ token, action: 'approve' }))
    expect(consumed.status).toBe(200)
    const cookie = cookiesOf(consumed)
    expect((await service.fetch('/device', { headers: { accept: 'text/html', cookie } })).status).toBe(200)
  })
})

describe('a mail’s link in a browser where somebody else is signed in', () => {
  // Not checked against the contract, which promises no 500.
  const consume = (token: string, cookie: string) =>
    fetch(`${service.origin}/v1/auth/magic/consume`, form({ token }, { cookie }))

  it('ends their session with the same write that begins the new one', async () => {
    const [theirs, mine] = [await somebody(), await somebody()]
    const { deviceCode } = await service.startLogin(mine.email)
    const token = mailTokenOf(service, mine.email)
    const { prisma } = service.database
    await prisma.$executeRawUnsafe(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$`)
    await prisma.$executeRawUnsafe(`
      CREATE TRIGGER refuse BEFORE UPDATE OF revoked_at ON browser_sessions FOR EACH ROW EXECUTE FUNCTION refuse()`)
    try {
      expect((await consume(token, theirs.cookie)).status).toBe(500)
    } finally {
      await prisma.$executeRawUnsafe('DROP FUNCTION refuse CASCADE')
    }
    expect((await theirs.get()).status).toBe(200)
    const poll = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    expect(poll.response.status).toBe(428)

    const consumed = await consume(token, theirs.cookie)
    expect(consumed.status).toBe(200)
    expect((await theirs.get()).status).toBe(401)
    expect((await mine.get()).status).toBe(200)
    const cookie = cookiesOf(consumed)
    const page = await service.fetch('/device', { headers: { accept: 'text/html', cookie } })
    expect(await page.text()).toContain(mine.email)
  })
})

describe('signing out', () => {
  it('signs a device out, once', async () => {
    const { email, post } = await somebody()
    const device = await service.signIn(email, { deviceId: 'lost' })
    const row = await service.database.prisma.deviceSession.findFirstOrThrow({
      where: { deviceId: 'lost', invitation: { account: { email } } },
    })
    expect(await said(await post({ action: 'revoke-device', sessionId: row.id }))).toMatch(/^200 The device is signed/)
    expect((await service.clientOf(device.accessToken).GET('/device')).response.status).toBe(401)
    expect(await said(await post({ action: 'revoke-device', sessionId: row.id }))).toMatch(
      /^404 There is no such device/,
    )
  })

  it('signs out here', async () => {
    const { post, get } = await somebody()
    const response = await post({ action: 'sign-out' })
    expect(await response.text()).toContain('This browser is signed out')
    expect(response.headers.getSetCookie()).toHaveLength(3)
    expect((await get()).status).toBe(401)
  })

  it('signs out everywhere else, or everywhere', async () => {
    const { email, post, get } = await somebody()
    const device = await service.signIn(email)
    expect(await said(await post({ action: 'sign-out-others' }))).toMatch(/^200 Everything but this browser/)
    expect((await service.clientOf(device.accessToken).GET('/device')).response.status).toBe(401)
    expect((await get()).status).toBe(200)

    const response = await post({ action: 'sign-out-everywhere' })
    expect(await response.text()).toContain('Signed out everywhere')
    expect((await get()).status).toBe(401)
  })
})

describe('passkeys', () => {
  it('renames and deletes', async () => {
    const { cookie, post, get } = await somebody()
    const passkeyId = await addPasskey(service, { cookie }, newAuthenticator(), 'before')
    expect(await (await get()).text()).toContain('before')
    expect(await said(await post({ action: 'rename-passkey', passkeyId, name: 'after' }))).toMatch(/^200 /)
    expect(await said(await post({ action: 'rename-passkey', passkeyId, name: '\u200b' }))).toMatch(/^400 A name has/)
    expect(await (await get()).text()).toContain('after')
    expect(await said(await post({ action: 'delete-passkey', passkeyId }))).toMatch(/^200 The passkey is deleted/)
    expect(await said(await post({ action: 'delete-passkey', passkeyId }))).toMatch(/^404 There is no such passkey/)
    expect(await said(await post({ action: 'rename-passkey', passkeyId, name: 'x' }))).toMatch(/^404 /)
  })

  it('deletes nothing after a sign-in that is old', async () => {
    await using own = await startService()
    const cookie = await signInBrowser(own, 'ada@example.com')
    const passkeyId = await addPasskey(own, { cookie }, newAuthenticator())
    own.clock.advance({ seconds: 901 })
    const response = await own.fetch('/device', form({ action: 'delete-passkey', passkeyId }, { cookie }))
    expect(await said(response)).toMatch(/^403 This needs a fresh sign-in/)
  })
})

describe('what is wrong with a form', () => {
  it.each([
    ['an action that there is not', { action: 'explode' }],
    ['no action', { userCode: 'BCDF-GHJK' }],
    ['a field that there is not', { action: 'sign-out', next: 'https://evil.example' }],
    ['a missing code', { action: 'approve' }],
    ['a missing passkey', { action: 'delete-passkey' }],
    ['what is no id', { action: 'revoke-device', sessionId: '1' }],
  ])('%s gets a page with 400', async (_name, fields) => {
    const { post } = await somebody()
    const response = await post(fields)
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
  })

  it('too much of it gets a page with 413, and an unreadable one 415', async () => {
    const { cookie, post } = await somebody()
    expect((await post({ action: 'find', userCode: 'x'.repeat(17_000) })).status).toBe(413)
    const headers = { cookie, accept: 'text/html', 'content-type': 'text/plain' }
    const response = await service.fetch('/device', { method: 'POST', headers, body: 'action=sign-out' })
    expect([response.status, response.headers.get('content-type')]).toEqual([415, 'text/html; charset=utf-8'])
  })

  it('of another site gets 403, and does nothing', async () => {
    const { cookie, get } = await somebody()
    const sent = form({ action: 'sign-out-everywhere' }, { cookie, origin: 'https://evil.example' })
    expect((await service.fetch('/device', sent)).status).toBe(403)
    expect((await get()).status).toBe(200)
  })

  it('of nobody gets 401 and the ways in', async () => {
    const response = await service.fetch('/device', form({ action: 'find', userCode: 'BCDF-GHJK' }))
    expect(response.status).toBe(401)
    expect(await response.text()).toContain('Sign in to see your devices')
  })

  it('JSON cannot send it', async () => {
    const { cookie } = await somebody()
    const headers = { cookie, 'content-type': 'application/json' }
    const body = JSON.stringify({ action: 'sign-out-everywhere' })
    expect(await outcomeOf(await service.fetch('/device', { method: 'POST', headers, body }))).toBe(
      '400 invalid_request',
    )
  })
})
