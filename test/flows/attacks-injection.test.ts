import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryOf, mailTokenOf } from '../support/people.ts'
import { bytes, form, json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const MARKUP = "o'brien&co@example.com"
/** Whom others would like to be taken for. */
const ROLE_MODELS = ['kim@example.com', 'kisa@example.com']
const emails = Array.from({ length: 60 }, (_, index) => `person-${index + 1}@example.com`)
const persons = { next: () => emails.shift() ?? '' }
let service: TestService

beforeAll(async () => {
  const quoted = MARKUP.replaceAll("'", "''")
  service = await startService({ directory: directoryOf([...emails, ...ROLE_MODELS, quoted]) })
})
afterAll(() => service[Symbol.asyncDispose]())

const start = (body: object) => service.fetch('/v1/auth/device/start', json({ deviceId: 'laptop-1', ...body }))

/** The page and the mail of a login with this device name. */
async function shown(deviceName: string) {
  const email = persons.next()
  const response = await start({ email, deviceName })
  expect(response.status).toBe(202)
  const page = await (await service.fetch(`/v1/auth/magic/consume?token=${mailTokenOf(service, email)}`)).text()
  const mail = service.mailbox.newest(email)
  return { email, page, mail, html: htmlOf(mail.raw) }
}

/** The HTML part of a mail, decoded. */
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
  ])('with markup is text on the page and in the mail: %s', async (name) => {
    const { page, html } = await shown(name)
    for (const markup of [page, html]) {
      expect(markup).not.toContain(name)
      expect(markup).not.toMatch(/<img\b|<script\b[^>]*>alert/)
    }
  })

  // 1337 is no minute, no day and no year: the page and the mail say when the login began.
  it.each(['{{7*191}}', '${7*191}', '<%= 7*191 %>', '#{7*191}'])('is no template: %s', async (name) => {
    const { page, mail } = await shown(name)
    expect(page).not.toMatch(/\b1337\b/)
    expect(mail.text).not.toMatch(/\b1337\b/)
  })

  it('cannot add a recipient or a header to the mail', async () => {
    const { mail, email } = await shown('x\r\nBcc: victim@example.com\r\n\r\nHello')
    expect(mail.to).toEqual([email])
    const headers = mail.raw.slice(0, mail.raw.search(/\r?\n\r?\n/))
    expect(headers).not.toMatch(/^bcc:/im)
    expect(headers).not.toContain('victim@example.com')
    expect(headers).not.toContain('Hello')
  })

  it.each([
    ['text that runs backwards', 'abc\u202Egpj.exe', /\u202E/],
    ['invisible text', 'a\u200Bb\u2060c\uFEFFd', /[\u200B\u2060\uFEFF]/],
    ['controls', 'a\u0007b\u001b[31mc\u0085d', /[^\P{Cc}\n]/u],
  ])('is cleaned of %s', async (_, name, unwanted) => {
    const { page } = await shown(name)
    expect(page).not.toMatch(unwanted)
    const login = await service.database.prisma.deviceLogin.findFirst({ orderBy: { createdAt: 'desc' } })
    expect(login?.deviceName).not.toMatch(unwanted)
  })

  it('keeps what is honest: letters of any script, emoji', async () => {
    const { page } = await shown('Zoë’s 电脑 💻')
    expect(page).toContain('Zoë’s 电脑 💻')
  })

  it('with NUL, which the database cannot store, is no error of ours', async () => {
    expect((await start({ email: persons.next(), deviceName: 'a\0b' })).status).toBe(202)
  })

  it('of 10 kB is refused, and half a surrogate is not a crash', async () => {
    expect(await outcomeOf(await start({ email: persons.next(), deviceName: 'x'.repeat(10_000) }))).toBe(
      '400 invalid_request',
    )
    const half = await service.fetch(
      '/v1/auth/device/start',
      bytes(`{"email":"${persons.next()}","deviceId":"x","deviceName":"a\\ud800b"}`, 'application/json'),
    )
    expect(half.status).toBe(202)
  })

  it('is quoted and never a link', async () => {
    const { page, html, mail } = await shown('Visit http://evil.example/x to keep access')
    expect(page).not.toMatch(/href="[^"]*evil/)
    expect(html).not.toMatch(/href="[^"]*evil/)
    // A mail client makes links of plain addresses by itself.
    expect(mail.text).not.toContain('http://evil.example/x')
  })
})

describe('an address', () => {
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
  ])('that is not exactly one is refused, and no mail goes out: %j', async (email) => {
    const before = service.mailbox.mails.length
    expect(await outcomeOf(await start({ email }))).toMatch(/^400 invalid_request|^403 not_invited/)
    expect(service.mailbox.mails.length).toBe(before)
  })

  it('is the same in capitals and with spaces around, and mail goes to the stored one only', async () => {
    const email = persons.next()
    expect((await start({ email: ` ${email.toUpperCase()}\t` })).status).toBe(202)
    expect(service.mailbox.mails.at(-1)?.to).toEqual([email])
  })

  it.each([
    ['the Kelvin sign for k', '\u212Aim@example.com'],
    ['a dotless i', 'k\u0131m@example.com'],
    ['a long s', 'ki\u017Fa@example.com'],
    ['full-width letters', 'ｋim@example.com'],
    ['a look-alike of another script', 'k\u0456m@example.com'],
    ['a look-alike in the domain', 'kim@ex\u0430mple.com'],
    ['its punycode', 'kim@xn--exmple-4nf.com'],
  ])('that only looks like an invited one is not: %s', async (_, email) => {
    const before = service.mailbox.mails.length
    expect([400, 403]).toContain((await start({ email })).status)
    expect(service.mailbox.mails.length).toBe(before)
  })

  it('with markup in it is escaped on the page', async () => {
    await service.startLogin(MARKUP)
    const page = await (await service.fetch(`/v1/auth/magic/consume?token=${mailTokenOf(service, MARKUP)}`)).text()
    expect(page).toContain('o&#39;brien&amp;co@example.com')
    expect(page).not.toContain(MARKUP)
  })
})

describe('odd strings in every field', () => {
  const odd = [
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
  it.each(fields)('%s %s: refused, never an error of ours', async (path, field, rest) => {
    for (const value of odd) {
      const response = await service.fetch(path, json({ ...rest, [field]: value }))
      expect([400, 401, 403], JSON.stringify(value)).toContain(response.status)
    }
  })

  it('a user code of odd strings is refused too', async () => {
    const { accessToken } = await service.signIn(persons.next())
    for (const value of odd) {
      const init = json({ userCode: value.padEnd(8, '-') }, { authorization: `Bearer ${accessToken}` })
      expect([400, 404], JSON.stringify(value)).toContain((await service.fetch('/device', init)).status)
    }
  })

  it.each(['__proto__', 'constructor', 'prototype', 'toString'])('a field named %s changes no object', async (name) => {
    const body = `{"email":"${persons.next()}","deviceId":"x","${name}":{"isAdmin":true}}`
    const response = await service.fetch('/v1/auth/device/start', bytes(body, 'application/json'))
    expect(await outcomeOf(response)).toBe('400 invalid_request')
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
    const inForm = await service.fetch('/v1/auth/magic/consume', form({ token: 'x', [name]: 'y' }, { accept: '*/*' }))
    expect([400, 401]).toContain(inForm.status)
  })

  it('no value that was sent comes back in the message', async () => {
    const response = await service.fetch(
      '/v1/auth/token/refresh',
      json({ account: ['hunter2'], refreshToken: { value: 'hunter2' }, extra: 'hunter2' }),
    )
    expect(await outcomeOf(response)).toBe('400 invalid_request')
    expect(await messageOf(response)).toMatch(/account must be string/)
    expect(await messageOf(response)).not.toContain('hunter2')
  })
})
