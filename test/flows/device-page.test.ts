import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addPasskey, newAuthenticator, signInWithPasskey } from '../support/passkeys.ts'
import { cookiesOf, mailTokenOf, people, signInBrowser } from '../support/people.ts'
import { expectData, expectOk, form, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { isGoodKey, shownKey } from '../support/shown-key.ts'
import { requestSignInLink } from '../support/sign-in-links.ts'

const persons = people()
let service: TestService

beforeAll(async () => {
  service = await startService({ directory: persons.directory })
})
afterAll(() => service[Symbol.asyncDispose]())

/** A person who is signed in with a browser. */
async function personInBrowser(email = persons.next()) {
  const cookie = await signInBrowser(service, email)
  const post = (fields: Record<string, string>) => service.fetch('/device', form(fields, { cookie }))
  const get = (query = '') => service.fetch(`/device${query}`, { headers: { accept: 'text/html', cookie } })
  const startLogin = async (deviceName = 'Kitchen laptop') => {
    const login = await service.startLogin(email, { deviceId: 'waiting', deviceName })
    const poll = async () =>
      (await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })).response.status
    return { ...login, poll }
  }
  return { email, cookie, post, get, startLogin }
}

/** The status of a page and the text of its notice. */
async function noticeOf(response: Response): Promise<string> {
  expect(response.headers.get('content-type')).toMatch(/^text\/html/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-frame-options')).toBe('DENY')
  const notice = /<p class="notice[^>]*>[^]*?<span>([^]*?)<\/span>/.exec(await response.clone().text())?.[1]
  return `${response.status} ${notice ?? ''}`.replaceAll(/\s+/g, ' ').trim()
}

describe('GET /device in a browser', () => {
  it('shows the account, the devices and the code of the query, which it does not look up', async () => {
    const { email, get } = await personInBrowser()
    const response = await get('?userCode=BCDF-GHJK&next=https://evil.example')
    expect(await noticeOf(response)).toBe('200')
    const page = await response.text()
    expect(page).toContain(email)
    expect(page).toContain('value="BCDF-GHJK"')
    expect(page).not.toContain('evil.example')
    expect(response.headers.get('content-security-policy')).toContain("script-src 'self'")
  })

  it('marks the browser that asks for it, and counts the others', async () => {
    const email = persons.next()
    await signInBrowser(service, email)
    const { get } = await personInBrowser(email)
    const page = await (await get()).text()
    expect(page.match(/<span class="badge">This browser<\/span>/g)).toHaveLength(1)
    expect(page).toContain('This browser and one other device or browser will be signed out.')
  })

  it('shows how to sign in, with the code kept, without a session', async () => {
    const response = await service.fetch('/device?userCode=BCDF-GHJK', { headers: { accept: 'text/html' } })
    expect(response.status).toBe(401)
    const page = await response.text()
    expect(page).toContain('Sign in to see your devices')
    expect(page).toContain('userCode=BCDF-GHJK')
    expect(page).toContain('<input type="hidden" name="userCode" value="BCDF-GHJK" />')
    expect(page).toContain('Email me a sign-in link')
  })

  it('repeats no long code to a person without a session', async () => {
    const code = 'x'.repeat(33)
    const response = await service.fetch(`/device?userCode=${code}`, { headers: { accept: 'text/html' } })
    expect(response.status).toBe(401)
    expect(await response.text()).not.toContain(code)
  })

  it('shows an error page for an invalid query', async () => {
    const { get } = await personInBrowser()
    const response = await get(`?userCode=${'x'.repeat(33)}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
  })
})

describe('the form for a user code', () => {
  it('finds a login and shows it without changing it', async () => {
    const { post, startLogin } = await personInBrowser()
    const { userCode, poll } = await startLogin('<b>Kitchen</b>')
    const response = await post({ action: 'find', userCode: userCode.toLowerCase() })
    expect(await noticeOf(response)).toBe('200')
    const page = await response.text()
    expect(page).toContain('&lt;b&gt;Kitchen&lt;/b&gt;')
    expect(page).toContain(userCode)
    expect(await poll()).toBe(428)
  })

  it('approves a login', async () => {
    const { post, startLogin } = await personInBrowser()
    const { userCode, poll } = await startLogin()
    expect(await noticeOf(await post({ action: 'approve', userCode }))).toMatch(/^200 Approved\./)
    expect(await poll()).toBe(200)
  })

  it('denies a login, and then refuses to approve it', async () => {
    const { post, startLogin } = await personInBrowser()
    const { userCode, poll } = await startLogin()
    expect(await noticeOf(await post({ action: 'deny', userCode }))).toMatch(/^200 Denied\./)
    expect(await noticeOf(await post({ action: 'approve', userCode }))).toMatch(/^409 This sign-in was denied before/)
    expect(await noticeOf(await post({ action: 'find', userCode }))).toMatch(/^409 /)
    expect(await poll()).toBe(403)
  })

  it('refuses to deny a login that was approved', async () => {
    const { post, startLogin } = await personInBrowser()
    const { userCode } = await startLogin()
    await expectOk('The approval', post({ action: 'approve', userCode }))
    expect(await noticeOf(await post({ action: 'deny', userCode }))).toMatch(/^409 This sign-in was approved before/)
  })

  it('answers the code of another account as an unknown code', async () => {
    const [mine, theirs] = [await personInBrowser(), await personInBrowser()]
    const { userCode, poll } = await theirs.startLogin()
    expect(await noticeOf(await mine.post({ action: 'approve', userCode }))).toBe(
      await noticeOf(await mine.post({ action: 'approve', userCode: 'BCDF-GHJK' })),
    )
    expect(await poll()).toBe(428)
  })

  it('refuses an expired code', async () => {
    await using own = await startService()
    const cookie = await signInBrowser(own, 'ada@example.com')
    const { userCode } = await own.startLogin('ada@example.com')
    own.clock.advance({ seconds: 600 })
    const response = await own.fetch('/device', form({ action: 'approve', userCode }, { cookie }))
    expect(await noticeOf(response)).toMatch(/^410 This code has expired/)
  })
})

describe('the link in the email of a login that was approved by code', () => {
  const open = (token: string, cookie = '') =>
    service.fetch(`/v1/auth/magic/consume?token=${token}`, { headers: { accept: 'text/html', cookie } })

  it('shows that the login is approved, and still signs the browser in', async () => {
    const { email, post, startLogin } = await personInBrowser()
    const { userCode, poll } = await startLogin()
    const token = mailTokenOf(service, email)
    await expectOk('The approval', post({ action: 'approve', userCode }))
    for (const when of ['before the device has its tokens', 'after it']) {
      const response = await open(token)
      expect(response.status, when).toBe(200)
      const page = await response.text()
      expect(page).toContain('<h1>Already approved</h1>')
      expect(page).toContain('Kitchen laptop')
      expect(page).not.toMatch(/class="code"|value="deny"/)
      expect(await poll(), when).toBe(200)
    }
    const consumed = await service.fetch('/v1/auth/magic/consume', form({ token, action: 'approve' }))
    expect(consumed.status).toBe(200)
    const cookie = cookiesOf(consumed)
    expect((await service.fetch('/device', { headers: { accept: 'text/html', cookie } })).status).toBe(200)
  })

  it('offers to sign in unless the browser is signed in to the account already', async () => {
    const [{ cookie, email, post, startLogin }, other] = [await personInBrowser(), await personInBrowser()]
    const { userCode } = await startLogin()
    const token = mailTokenOf(service, email)
    await expectOk('The approval', post({ action: 'approve', userCode }))
    const offers = async (by?: string) => (await (await open(token, by)).text()).includes('Sign in here</button>')
    expect(await Promise.all([offers(), offers(other.cookie), offers(cookie)])).toEqual([true, true, false])
    expect(await (await open(token, cookie)).text()).toContain('href="/device"')
  })

  it('offers no sign-in in approval mode code, because that needs the code', async () => {
    const email = 'ada@example.com'
    await using strict = await startService({ env: { SVC_APPROVAL_MODE: 'code' } })
    const { deviceCode } = await strict.startLogin(email)
    const approval = strict.fetch('/v1/auth/magic/consume', json({ token: mailTokenOf(strict, email) }))
    await expectOk('The first approval', approval)
    const polled = await strict.client.POST('/v1/auth/device/poll', { body: { deviceCode } })
    const { accessToken } = expectData('The poll', polled)

    const { userCode } = await strict.startLogin(email, { deviceId: 'second' })
    const body = { userCode, action: 'approve' } as const
    expect((await strict.clientOf(accessToken).POST('/device', { body })).response.status).toBe(200)
    const path = `/v1/auth/magic/consume?token=${mailTokenOf(strict, email)}`
    const page = await (await strict.fetch(path, { headers: { accept: 'text/html' } })).text()
    expect(page).toContain('<h1>Already approved</h1>')
    expect(page).not.toContain('<form')
  })
})

describe('the link in an email, in a browser where another person is signed in', () => {
  // Not checked against the contract, which documents no 500.
  const consume = (token: string, cookie: string) =>
    fetch(`${service.origin}/v1/auth/magic/consume`, form({ token }, { cookie }))

  const OTHER_ACCOUNT = 'This browser is signed in to another account.'

  it.each(['of a login', 'of a login that was approved in another way', 'of the sign-in page'])(
    'says that the link %s replaces their sign-in',
    async (kind) => {
      const [theirs, mine] = [await personInBrowser(), await personInBrowser()]
      const { userCode } = await mine.startLogin()
      if (kind.endsWith('way')) await expectOk('The approval', mine.post({ action: 'approve', userCode }))
      const path = kind.endsWith('page')
        ? `/sign-in/email?token=${await requestSignInLink(service, mine.email)}`
        : `/v1/auth/magic/consume?token=${mailTokenOf(service, mine.email)}`
      const shows = async (headers: Record<string, string>) =>
        (await (await service.fetch(path, { headers })).text()).includes(OTHER_ACCOUNT)
      const browsers = [{ cookie: theirs.cookie }, { cookie: mine.cookie }, {}]
      expect(await Promise.all(browsers.map(shows))).toEqual([true, false, false])
    },
  )

  it('ends their session in the transaction that opens the new one', async () => {
    const [theirs, mine] = [await personInBrowser(), await personInBrowser()]
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

describe('the forms for signing out', () => {
  it('sign a device out once', async () => {
    const { email, post } = await personInBrowser()
    const device = await service.signIn(email, { deviceId: 'lost' })
    const row = await service.database.prisma.deviceSession.findFirstOrThrow({
      where: { deviceId: 'lost', invitation: { account: { email } } },
    })
    expect(await noticeOf(await post({ action: 'revoke-device', sessionId: row.id }))).toMatch(/^200 It is signed out/)
    expect((await service.clientOf(device.accessToken).GET('/device')).response.status).toBe(401)
    expect(await noticeOf(await post({ action: 'revoke-device', sessionId: row.id }))).toMatch(
      /^404 It is not signed in any more/,
    )
  })

  it('sign this browser out', async () => {
    const { post, get } = await personInBrowser()
    const response = await post({ action: 'sign-out' })
    expect(await response.text()).toContain('This browser is signed out')
    expect(response.headers.getSetCookie()).toHaveLength(3)
    expect((await get()).status).toBe(401)
  })

  it('sign this browser out by its row in the list, and a browser of a passkey by the row of its device', async () => {
    const { email, cookie, post, get } = await personInBrowser()
    const { prisma } = service.database
    const where = { revokedAt: null, invitation: { account: { email } } }
    const authenticator = newAuthenticator()
    await addPasskey(service, { cookie }, authenticator)
    const bySession = await prisma.browserSession.findFirstOrThrow({ where })
    const left = await post({ action: 'revoke-device', sessionId: bySession.id })
    expect(await left.text()).toContain('This browser is signed out')
    expect((await get()).status).toBe(401)

    const headers = { 'x-svc-use-cookies': 'true' }
    const again = cookiesOf(await expectOk('The sign-in', signInWithPasskey(service, authenticator, {}, headers)))
    const byDevice = await prisma.deviceSession.findFirstOrThrow({ where })
    const fields = { action: 'revoke-device', sessionId: byDevice.id }
    const leftAgain = await service.fetch('/device', form(fields, { cookie: again }))
    expect(await leftAgain.text()).toContain('This browser is signed out')
    expect(leftAgain.headers.getSetCookie()).toHaveLength(3)
  })

  it('sign out everywhere else, or everywhere', async () => {
    const { email, post, get } = await personInBrowser()
    const device = await service.signIn(email)
    expect(await noticeOf(await post({ action: 'sign-out-others' }))).toMatch(/^200 Everything but this browser/)
    expect((await service.clientOf(device.accessToken).GET('/device')).response.status).toBe(401)
    expect((await get()).status).toBe(200)

    const response = await post({ action: 'sign-out-everywhere' })
    expect(await response.text()).toContain('Signed out everywhere')
    expect((await get()).status).toBe(401)
  })
})

describe('the forms for passkeys', () => {
  it('rename and delete a passkey', async () => {
    const { cookie, post, get } = await personInBrowser()
    const passkeyId = await addPasskey(service, { cookie }, newAuthenticator(), 'before')
    expect(await (await get()).text()).toContain('before')
    expect(await noticeOf(await post({ action: 'rename-passkey', passkeyId, name: 'after' }))).toMatch(/^200 /)
    expect(await noticeOf(await post({ action: 'rename-passkey', passkeyId, name: '\u200b' }))).toMatch(
      /^400 A name has/,
    )
    expect(await (await get()).text()).toContain('after')
    expect(await noticeOf(await post({ action: 'delete-passkey', passkeyId }))).toMatch(/^200 The passkey is deleted/)
    expect(await noticeOf(await post({ action: 'delete-passkey', passkeyId }))).toMatch(/^404 There is no such passkey/)
    expect(await noticeOf(await post({ action: 'rename-passkey', passkeyId, name: 'x' }))).toMatch(/^404 /)
  })

  it('delete nothing, and make no key, when the sign-in is older than 15 minutes', async () => {
    await using own = await startService()
    const cookie = await signInBrowser(own, 'ada@example.com')
    const passkeyId = await addPasskey(own, { cookie }, newAuthenticator())
    own.clock.advance({ seconds: 901 })
    for (const fields of [
      { action: 'delete-passkey', passkeyId },
      { action: 'create-key', name: 'editor' },
    ]) {
      const response = await own.fetch('/device', form(fields, { cookie }))
      expect(await noticeOf(response)).toMatch(/^403 This needs a sign-in that is at most 15 minutes old/)
      // What was typed stays.
      expect((await response.text()).includes('value="editor"')).toBe(fields.action === 'create-key')
    }
  })
})

describe('the forms for API keys', () => {
  const ownKeys = (email: string) =>
    service.database.prisma.apiKey.findMany({
      where: { invitation: { account: { email } } },
      orderBy: { createdAt: 'asc' },
    })
  const isGood = (key: string) => isGoodKey(service, key)

  it('make a key that is shown once, rotate it and revoke it', async () => {
    const { email, post, get } = await personInBrowser()
    const made = await post({ action: 'create-key', name: 'editor', model: 'svc/fast', expiresInDays: '30' })
    expect(await noticeOf(made)).toBe('200')
    const key = await shownKey(made)
    expect(await isGood(key)).toBe(true)
    const listed = await (await get()).text()
    expect(listed).toContain('<bdi>editor</bdi>')
    expect(listed).toContain('only <span class="name">svc/fast</span>')
    expect(listed).not.toContain(key)

    const [first] = await ownKeys(email)
    const keyId = first?.id ?? ''
    expect(first?.expiresAt.getTime()).toBe((first?.createdAt.getTime() ?? 0) + 30 * 86_400_000)
    const rotated = await post({ action: 'rotate-key', keyId, overlapSeconds: '3600' })
    expect(await noticeOf(rotated)).toMatch(/^200 The key is rotated/)
    expect(await Promise.all([isGood(key), isGood(await shownKey(rotated))])).toEqual([true, true])
    expect(await noticeOf(await post({ action: 'rotate-key', keyId }))).toMatch(/^409 This key was rotated before/)

    expect(await noticeOf(await post({ action: 'revoke-key', keyId }))).toMatch(/^200 The key is revoked/)
    expect(await noticeOf(await post({ action: 'revoke-key', keyId }))).toMatch(/^404 There is no such key/)
    expect(await Promise.all([isGood(key), isGood(await shownKey(rotated))])).toEqual([false, true])
    const { accountId } = await service.database.prisma.invitation.findFirstOrThrow({ where: { account: { email } } })
    const events = await service.database.prisma.auditEvent.findMany({
      where: { accountId, kind: { startsWith: 'api_key.' } },
      orderBy: { id: 'asc' },
    })
    expect(events.map(({ kind }) => kind)).toEqual(['api_key.created', 'api_key.rotated', 'api_key.revoked'])
  })

  it('make one key, also when a form is sent again, twice at once or after its key was revoked', async () => {
    const { email, post, get } = await personInBrowser()
    const formIn = (page: string) => ({
      action: 'create-key',
      name: 'editor',
      formId: /name="formId" value="([^"]+)"/.exec(page)?.[1] ?? '',
    })
    const wanted = formIn(await (await get()).text())
    const sent = await Promise.all([post(wanted), post(wanted)])
    const shown = await Promise.all([...sent, await post(wanted)].map(shownKey))
    expect(new Set(shown).size).toBe(1)
    expect(await isGood(shown[0] ?? '')).toBe(true)
    // Another browser of the same person does not get it.
    const elsewhere = await (await personInBrowser(email)).post(wanted)
    expect(await noticeOf(elsewhere)).toMatch(/^409 This form was sent before/)
    const [key, ...others] = await ownKeys(email)
    expect([key?.name, others]).toEqual(['editor', []])
    await post({ action: 'revoke-key', keyId: key?.id ?? '' })
    const again = await post(wanted)
    expect(again.status).toBe(409)

    // The page that refuses it has a new form, and the same form of another person is another one.
    expect((await post(formIn(await again.text()))).status).toBe(200)
    expect(await ownKeys(email)).toHaveLength(2)
    const theirs = await (await personInBrowser()).post(wanted)
    expect(await shownKey(theirs)).not.toBe(shown[0])
  })

  it('rotate a key once, also when a form is sent again or twice at once', async () => {
    const { email, post, get } = await personInBrowser()
    await post({ action: 'create-key', name: 'editor' })
    const keyId = (await ownKeys(email))[0]?.id ?? ''
    const [, formId = ''] = /name="formId" value="([^"]+)"/.exec(await (await get()).text()) ?? []
    const wanted = { action: 'rotate-key', keyId, overlapSeconds: '0', formId }
    const sent = await Promise.all([post(wanted), post(wanted)])
    const shown = await Promise.all([...sent, await post(wanted)].map(shownKey))
    expect(new Set(shown).size).toBe(1)
    expect(await isGood(shown[0] ?? '')).toBe(true)
    const events = await service.database.prisma.auditEvent.findMany({
      where: { details: { path: ['replaces'], equals: keyId } },
    })
    expect(events).toHaveLength(1)
  })

  it('refuse a key of somebody else, an unknown model, and a name without visible characters', async () => {
    const theirs = await personInBrowser()
    await theirs.post({ action: 'create-key', name: 'theirs' })
    const keyId = (await ownKeys(theirs.email))[0]?.id ?? ''
    const { email, post } = await personInBrowser()
    expect(await noticeOf(await post({ action: 'revoke-key', keyId }))).toMatch(/^404 /)
    expect(await noticeOf(await post({ action: 'rotate-key', keyId }))).toMatch(/^404 /)
    const unknown = await post({ action: 'create-key', name: 'editor', model: 'svc/other', expiresInDays: '7' })
    expect(await noticeOf(unknown)).toMatch(/^400 The team does not have/)
    expect(await unknown.text()).toMatch(/name="name"\s+value="editor"[^]*<option value="7" selected>/)
    const unnamed = await post({ action: 'create-key', name: '\u200b' })
    expect(await noticeOf(unnamed)).toMatch(/^400 A name has/)
    expect(await unnamed.text()).toContain('<p class="mistake" id="key-name-mistake">A name has 1 to 64')
    expect(await ownKeys(email)).toEqual([])
  })
})

describe('a refused form', () => {
  it.each([
    ['with an unknown action', { action: 'explode' }],
    ['without an action', { userCode: 'BCDF-GHJK' }],
    ['with an unknown field', { action: 'sign-out', next: 'https://evil.example' }],
    ['without a code', { action: 'approve' }],
    ['without a passkey', { action: 'delete-passkey' }],
    ['with a lifetime that the page does not offer', { action: 'create-key', name: 'x', expiresInDays: '9999' }],
    ['with an invalid id', { action: 'revoke-device', sessionId: '1' }],
  ])('%s is answered with a page and 400', async (_name, fields) => {
    const { post } = await personInBrowser()
    const response = await post(fields)
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
  })

  it('that is too large is answered with a page and 413, and one of another type with 415', async () => {
    const { cookie, post } = await personInBrowser()
    expect((await post({ action: 'find', userCode: 'x'.repeat(17_000) })).status).toBe(413)
    const headers = { cookie, accept: 'text/html', 'content-type': 'text/plain' }
    const response = await service.fetch('/device', { method: 'POST', headers, body: 'action=sign-out' })
    expect([response.status, response.headers.get('content-type')]).toEqual([415, 'text/html; charset=utf-8'])
  })

  it('from another origin is answered 403 and changes nothing', async () => {
    const { cookie, get } = await personInBrowser()
    const sent = form({ action: 'sign-out-everywhere' }, { cookie, origin: 'https://evil.example' })
    expect((await service.fetch('/device', sent)).status).toBe(403)
    expect((await get()).status).toBe(200)
  })

  it('without a session is answered 401 and shows how to sign in', async () => {
    const response = await service.fetch('/device', form({ action: 'find', userCode: 'BCDF-GHJK' }))
    const page = await response.text()
    expect([response.status, page]).toEqual([401, expect.stringContaining('Sign in to see your devices')])
    expect(page).toContain('Your sign-in has ended, so nothing was changed.')
    const opened = await service.fetch('/device', { headers: { accept: 'text/html' } })
    expect(await opened.text()).not.toContain('Your sign-in has ended')
  })

  it('cannot be sent as JSON', async () => {
    const { cookie } = await personInBrowser()
    const headers = { cookie, 'content-type': 'application/json' }
    const body = JSON.stringify({ action: 'sign-out-everywhere' })
    expect(await outcomeOf(await service.fetch('/device', { method: 'POST', headers, body }))).toBe(
      '400 invalid_request',
    )
  })
})
