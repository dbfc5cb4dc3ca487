import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../src/kernel/secret.ts'
import { openMailer } from '../../src/mail.ts'
import { directoryOf, mailTokenOf } from '../support/people.ts'
import { bearerOf, bytes, form, json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const MARKUP = "o'brien&co@example.com"
/** Invited addresses that look-alike addresses imitate. */
const IMITATED = ['kim@example.com', 'kisa@example.com']
const emails = Array.from({ length: 60 }, (_, index) => `person-${index + 1}@example.com`)
const persons = { next: () => emails.shift() ?? '' }
let service: TestService

beforeAll(async () => {
  const quoted = MARKUP.replaceAll("'", "''")
  service = await startService({ directory: directoryOf([...emails, ...IMITATED, quoted]) })
})
afterAll(() => service[Symbol.asyncDispose]())

const start = (body: object) => service.fetch('/v1/auth/device/start', json({ deviceId: 'laptop-1', ...body }))

/** Starts a login with this device name; returns the page and the email that show it. */
async function showDeviceName(deviceName: string) {
  const email = persons.next()
  const response = await start({ email, deviceName })
  expect(response.status).toBe(202)
  const page = await (await service.fetch(`/v1/auth/magic/consume?token=${mailTokenOf(service, email)}`)).text()
  const mail = service.mailbox.newest(email)
  return { email, page, mail, html: htmlOf(mail.raw) }
}

/** The HTML part of an email, decoded from quoted-printable. */
function htmlOf(raw: string): string {
  const part = raw.split(/^--\S+\r?\n/m).find((candidate) => /^content-type: text\/html/im.test(candidate)) ?? ''
  const body = part.slice(part.search(/\r?\n\r?\n/)).replaceAll(/=\r?\n/g, '')
  const decoded = body.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(decoded, 'latin1').toString('utf8')
}

describe('a device name', () => {
  it.each([
    '<img src=x onerror=alert(1)>',
    '"><script>alert(1)</script>',
    "' onmouseover='alert(1)",
    '<!-- x',
    '</title><b>',
  ])('with markup is shown as text on the page and in the email: %s', async (name) => {
    const { page, html } = await showDeviceName(name)
    for (const markup of [page, html]) {
      expect(markup).not.toContain(name)
      expect(markup).not.toMatch(/<img\b|<script\b[^>]*>alert/)
    }
  })

  // 1337 cannot be part of the times that the page and the email show.
  it.each(['{{7*191}}', '${7*191}', '<%= 7*191 %>', '#{7*191}'])('is not evaluated as a template: %s', async (name) => {
    const { page, mail } = await showDeviceName(name)
    expect(page).not.toMatch(/\b1337\b/)
    expect(mail.text).not.toMatch(/\b1337\b/)
  })

  it('cannot add a recipient or a header to the email', async () => {
    const { mail, email } = await showDeviceName('x\r\nBcc: victim@example.com\r\n\r\nHello')
    expect(mail.to).toEqual([email])
    const headers = mail.raw.slice(0, mail.raw.search(/\r?\n\r?\n/))
    expect(headers).not.toMatch(/^bcc:/im)
    expect(headers).not.toContain('victim@example.com')
    expect(headers).not.toContain('Hello')
  })

  it.each([
    ['direction-changing characters', 'abc\u202Egpj.exe', /\u202E/],
    ['invisible characters', 'a\u200Bb\u2060c\uFEFFd', /[\u200B\u2060\uFEFF]/],
    ['control characters', 'a\u0007b\u001b[31mc\u0085d', /[^\P{Cc}\n]/u],
  ])('is cleaned of %s', async (_, name, unwanted) => {
    const { page } = await showDeviceName(name)
    expect(page).not.toMatch(unwanted)
    const login = await service.database.prisma.deviceLogin.findFirst({ orderBy: { createdAt: 'desc' } })
    expect(login?.deviceName).not.toMatch(unwanted)
  })

  it('keeps letters of any script and emoji', async () => {
    const { page } = await showDeviceName('Zoë’s 电脑 💻')
    expect(page).toContain('Zoë’s 电脑 💻')
  })

  it('with NUL, which the database cannot store, is accepted', async () => {
    expect((await start({ email: persons.next(), deviceName: 'a\0b' })).status).toBe(202)
  })

  it('of 10 kB is refused, and one with half a surrogate pair is accepted', async () => {
    expect(await outcomeOf(await start({ email: persons.next(), deviceName: 'x'.repeat(10_000) }))).toBe(
      '400 invalid_request',
    )
    const half = await service.fetch(
      '/v1/auth/device/start',
      bytes(`{"email":"${persons.next()}","deviceId":"x","deviceName":"a\\ud800b"}`, 'application/json'),
    )
    expect(half.status).toBe(202)
  })

  it('with a URL is never shown as a link', async () => {
    const { page, html, mail } = await showDeviceName('Visit http://evil.example/x to keep access')
    expect(page).not.toMatch(/href="[^"]*evil/)
    expect(html).not.toMatch(/href="[^"]*evil/)
    // Mail clients turn a plain URL into a link by themselves.
    expect(mail.text).not.toContain('http://evil.example/x')
  })
})

/** The stored addresses are valid, so only this test sees what an email would do to one that is not. */
it.each([
  'ada@example.com, evil@evil.example',
  'Ada <evil@evil.example>',
  'ada@example.com\r\nRCPT TO:<evil@evil.example>',
])('an email has no second recipient, whatever its address is: %j', async (to) => {
  const { url } = service.mailbox
  const log = { showLink: () => undefined, warn: () => undefined }
  const mailer = openMailer({ kind: 'smtp', url: new Secret(url), from: 'svc@example.com' }, log)
  const before = service.mailbox.mails.length
  const send = (address: string) => mailer.send({ to: address, subject: 'Hi', text: 'Hi', html: '<p>Hi</p>' })
  await send(to).catch(() => undefined)
  await send('ada@example.com')
  mailer.close()
  const recipients = service.mailbox.mails.slice(before).flatMap((mail) => mail.to)
  expect([recipients.includes('ada@example.com'), recipients.includes('evil@evil.example')]).toEqual([true, false])
})

describe('an email address', () => {
  it.each([
    'person-1@example.com, evil@evil.example',
    'person-1@example.com\r\nRCPT TO:<evil@evil.example>',
    '"person-1@example.com"@evil.example',
    'person-1@example.com>',
    '<person-1@example.com>',
    'Person <person-1@example.com>',
    'person-1@example.com;evil@evil.example',
    'person-1@example.com evil@evil.example',
    'person-1@example.com\0',
    'person-1@@example.com',
    'person-1＠example.com',
    'person-1@example.com%0d%0aBcc:evil@evil.example',
    '@example.com',
    'person-1@',
  ])('that is not exactly one address is refused, and no email is sent: %j', async (email) => {
    const before = service.mailbox.mails.length
    expect(await outcomeOf(await start({ email }))).toMatch(/^400 invalid_request|^403 not_invited/)
    expect(service.mailbox.mails.length).toBe(before)
  })

  it('matches in capitals and with spaces around, and the email goes to the stored form', async () => {
    const email = persons.next()
    expect((await start({ email: ` ${email.toUpperCase()}\t` })).status).toBe(202)
    expect(service.mailbox.mails.at(-1)?.to).toEqual([email])
  })

  it.each([
    ['the Kelvin sign instead of k', '\u212Aim@example.com'],
    ['a dotless i', 'k\u0131m@example.com'],
    ['a long s', 'ki\u017Fa@example.com'],
    ['full-width letters', 'ｋim@example.com'],
    ['a letter of another script', 'k\u0456m@example.com'],
    ['a letter of another script in the domain', 'kim@ex\u0430mple.com'],
    ['that domain in punycode', 'kim@xn--exmple-4nf.com'],
  ])('that looks like an invited one is refused: %s', async (_, email) => {
    const before = service.mailbox.mails.length
    expect([400, 403]).toContain((await start({ email })).status)
    expect(service.mailbox.mails.length).toBe(before)
  })

  it('with markup is escaped on the page', async () => {
    await service.startLogin(MARKUP)
    const page = await (await service.fetch(`/v1/auth/magic/consume?token=${mailTokenOf(service, MARKUP)}`)).text()
    expect(page).toContain('o&#39;brien&amp;co@example.com')
    expect(page).not.toContain(MARKUP)
  })
})

describe('hostile strings in fields', () => {
  const hostile = [
    "' OR 1=1 --",
    '"; DROP TABLE accounts; --',
    '{"$gt":""}',
    '\\u0000',
    '%00',
    '\0',
    '../../etc/passwd',
    '𝕏'.repeat(50),
    '\ud800',
  ]
  const fields: [string, string, Record<string, unknown>][] = [
    ['/v1/auth/device/start', 'email', { deviceId: 'x' }],
    ['/v1/auth/device/start', 'deviceId', { email: 'person-1@example.com' }],
    ['/v1/auth/device/start', 'team', { email: 'person-1@example.com', deviceId: 'x' }],
    ['/v1/auth/device/poll', 'deviceCode', {}],
    ['/v1/auth/magic/consume', 'token', {}],
    ['/v1/auth/magic/consume', 'userCode', { token: 'svcm_x' }],
    ['/v1/auth/token/refresh', 'account', { refreshToken: 'svcr_x' }],
    ['/v1/auth/token/refresh', 'refreshToken', { account: 'person-1@example.com' }],
  ]
  it.each(fields)('are refused without a server error: %s %s', async (path, field, rest) => {
    for (const value of hostile) {
      const response = await service.fetch(path, json({ ...rest, [field]: value }))
      expect([400, 401, 403], JSON.stringify(value)).toContain(response.status)
    }
  })

  it('are refused as a user code', async () => {
    const { accessToken } = await service.signIn(persons.next())
    for (const value of hostile) {
      const init = json({ userCode: value.padEnd(8, '-') }, bearerOf(accessToken))
      expect([400, 404], JSON.stringify(value)).toContain((await service.fetch('/device', init)).status)
    }
  })

  it.each(['__proto__', 'constructor', 'prototype', 'toString'])(
    'change no prototype as a field named %s',
    async (name) => {
      const body = `{"email":"${persons.next()}","deviceId":"x","${name}":{"isAdmin":true}}`
      const response = await service.fetch('/v1/auth/device/start', bytes(body, 'application/json'))
      expect(await outcomeOf(response)).toBe('400 invalid_request')
      expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
      const inForm = await service.fetch('/v1/auth/magic/consume', form({ token: 'x', [name]: 'y' }, { accept: '*/*' }))
      expect([400, 401]).toContain(inForm.status)
    },
  )

  it('are not repeated in the error message', async () => {
    const response = await service.fetch(
      '/v1/auth/token/refresh',
      json({ account: ['hunter2'], refreshToken: { value: 'hunter2' }, extra: 'hunter2' }),
    )
    expect(await outcomeOf(response)).toBe('400 invalid_request')
    expect(await messageOf(response)).toMatch(/account must be a text/)
    expect(await messageOf(response)).not.toContain('hunter2')
  })
})
