import { describe, expect, it } from 'vitest'
import { approveLoginMail } from '../../src/control/mails/approve-login.ts'
import type { ComposedMail } from '../../src/control/mails/compose.ts'
import { invitationMail } from '../../src/control/mails/invitation.ts'
import {
  deviceSignedInMail,
  keyMadeMail,
  passkeyChangedMail,
  refreshReusedMail,
} from '../../src/control/mails/notices.ts'
import { spendingReachedMail } from '../../src/control/mails/spending-limit.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { limitOf, USD } from '../support/spending-limits.ts'

const LINK = 'https://svc.example.org/v1/auth/magic/consume?token=svcm_Q1w2E3r4T5y6U7i8O9p0A1s2D3f4G5h6J7k8L9z0X1c'
const BASE_URL = 'https://svc.example.org'
const DEVICE_PAGE = `${BASE_URL}/device`
const KEYS_PAGE = `${BASE_URL}/teams/acme/core/keys`
const AT = new Date('2026-11-21T09:00:12Z')
const UNTIL = new Date('2026-11-21T09:10:12Z')

/** Every email, with `name` wherever a caller's text is shown. */
function mailsWith(name: string): [string, ComposedMail][] {
  const occurrence = { at: AT, ip: '203.0.113.7', baseUrl: BASE_URL }
  return [
    ['approve this sign-in', approval(name, 'BCDF-GHJK')],
    ['approve this sign-in, with a code to type', approval(name, null)],
    [
      'new device',
      deviceSignedInMail({ ...occurrence, deviceName: name, approvedVia: 'user_code', team: '@acme/core' }),
    ],
    ['passkey added', passkeyChangedMail({ ...occurrence, change: 'added', passkeyName: name })],
    ['passkey removed', passkeyChangedMail({ ...occurrence, change: 'removed', passkeyName: name })],
    ['API key made', keyMade(name, 'created', null)],
    ['API key of a service account replaced', keyMade(name, 'rotated', 'build-server')],
    ['refresh token reused', refreshReusedMail({ ...occurrence, deviceName: name })],
  ]
}

function keyMade(
  name: string,
  change: 'created' | 'rotated',
  serviceAccount: string | null,
  models: readonly string[] | null = null,
): ComposedMail {
  const key = { name, prefix: 'svck_7Fq2', team: '@acme/core', models, expiresAt: UNTIL }
  const occurrence = { at: AT, ip: '203.0.113.7', baseUrl: BASE_URL }
  return keyMadeMail({ ...occurrence, change, key, serviceAccount, madeBy: 'ada@example.com' })
}

function approval(deviceName: string, userCode: string | null): ComposedMail {
  const place = { startIp: '203.0.113.7', startedAt: AT, expiresAt: UNTIL, team: '@acme/core' }
  return approveLoginMail({ ...place, link: new Secret(LINK), userCode, deviceName })
}

describe.each(mailsWith('Ada’s laptop').map(([name], index) => [name, index] as const))('%s', (_name, index) => {
  const mailWith = (name: string): ComposedMail => {
    const mail = mailsWith(name)[index]?.[1]
    if (!mail) throw new Error('There is no such email.')
    return mail
  }
  const plain = mailWith('Ada’s laptop')

  it('has a subject that names the device or passkey', () => {
    expect(plain.subject).toMatch(/^[A-Z][\w -]+(: | on )Ada’s laptop$/)
  })

  it('has a subject of one short line, whatever the name is', () => {
    const hostile = mailWith('Free money\r\nBcc: x@y.test\u202e\u200b\u0000')
    expect(hostile.subject).not.toMatch(/\p{Cc}|\u202e/u)
    const { subject } = mailWith('Free money\r\nBcc: x@y.test')
    expect(subject).not.toMatch(/\p{Cc}|\u202e/u)
    expect(subject.replaceAll('\u200B', '')).toContain('Free money Bcc: x@y.test')
    expect(Array.from(mailWith('W'.repeat(64)).subject).length).toBeLessThanOrEqual(80)
  })

  it('has a subject in which an email client finds no link', () => {
    expect(mailWith('Visit http://evil.test or www.evil.test').subject).not.toMatch(/http:\/\/|evil\.test|www\.evil/)
  })

  it('has text of at most 76 columns except for addresses', () => {
    const lines = mailWith('W'.repeat(64)).text.split('\n')
    expect(lines.filter((line) => line.length > 76 && !line.startsWith('https://'))).toEqual([])
  })

  it('has its facts in columns', () => {
    const facts = plain.text.split('\n').filter((line) => /^[A-Z][a-z ]+:.*\S$/.test(line) && !line.endsWith(':'))
    expect(facts).not.toHaveLength(0)
    for (const fact of facts) expect(fact).toMatch(/^(?=.{9} \S)[A-Z][a-z ]+: +\S/)
  })

  it('contains in its text form everything that is in its HTML form', () => {
    const said = plain.html
      .replace(/<head>.*<\/head>/s, '')
      .replace(/<[^>]*>/g, '\n')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line && line !== titleOf(plain))
    const text = plain.text.replace(/\s+/g, ' ')
    expect(said.filter((line) => !text.includes(line))).toEqual([])
  })

  it('quotes the name and escapes it in HTML', () => {
    const hostile = mailWith(`"><script>a()</script><img src=x onerror=a()>`)
    expect(hostile.text).toContain('“"><script>a()<')
    expect(hostile.html).toContain('“&quot;&gt;&lt;script&gt;a()')
    expect(hostile.html).not.toMatch(/<(script|img)/)
  })

  it('contains no part of a name that an email client would turn into a link', () => {
    const { text, html } = mailWith('Visit http://evil.test or www.evil.test or a@evil.test')
    for (const part of [text, html]) {
      expect(part).not.toMatch(/https?:\/\/(?!svc\.example\.org)|evil\.test|www\.evil|@evil/)
      expect(part.replaceAll('\u200B', '')).toContain('“Visit http://evil.test or www.evil.test or a@evil.test”')
    }
    const links = [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href)
    expect(links).toHaveLength(1)
    expect([LINK, DEVICE_PAGE, KEYS_PAGE]).toContain(links[0])
  })

  it('loads nothing from the network', () => {
    expect(plain.html).not.toMatch(/\ssrc=|url\(|@import|<link|<style|<script/)
  })

  it('says when it happened and from which address', () => {
    expect(plain.text).toContain('21 Nov 2026, 09:00 UTC')
    expect(plain.text).toContain('203.0.113.7')
  })
})

function titleOf({ html }: ComposedMail): string | undefined {
  return /<title>(.*)<\/title>/.exec(html)?.[1]
}

it('emails about API keys link to the page on which the reader can revoke them', () => {
  expect(keyMade('builds', 'created', null).text).toContain(`\n${DEVICE_PAGE}\n`)
  expect(keyMade('builds', 'created', 'build-server').text).toContain(`\n${KEYS_PAGE}\n`)
})

it.each([
  [null, 'all models of the team'],
  [['svc/fast', 'svc/deep'], 'svc/fast, svc/deep'],
  [['svc/fast', 'svc/deep', 'svc/small'], '3 of the team'],
])('an email about an API key for the models %j says so', (models, text) => {
  expect(keyMade('builds', 'created', null, models).text).toContain(`Models:   ${text}\n`)
})

describe('the email about a spending limit', () => {
  const reached = { percent: 80, spentNanoUsd: 8 * USD, member: null, baseUrl: BASE_URL } as const

  it('links to the limits of the team', () => {
    const mail = spendingReachedMail({ ...reached, limit: limitOf() })
    expect(mail.text).toContain(`\n${BASE_URL}/teams/acme/core/limits\n`)
  })

  it('quotes the name of an API key once, and contains no part that an email client would turn into a link', () => {
    const { text } = spendingReachedMail({ ...reached, limit: limitOf({ subject: 'key', subjectName: 'evil.test' }) })
    expect(text).not.toContain('evil.test')
    expect(text.replaceAll('\u200B', '').replace(/\s+/g, ' ')).toContain('a day for the API key "evil.test".')
  })
})

it.each([
  [null, /Ask the person who invited you for its file\. .* npm install -g FILE .* svc login https:/],
  [`${BASE_URL}/assets/svc-cli.tgz`, /npm install -g https:\S+\/assets\/svc-cli\.tgz .* svc login https:/],
])('tells an invited person to install the command, which is offered at %s, before it is used', (commandUrl, steps) => {
  const invited = { team: '@acme/core', role: 'member', invitedBy: 'ada@example.com' } as const
  const mail = invitationMail({ ...invited, baseUrl: BASE_URL, commandUrl })
  expect(mail.text.replace(/\s+/g, ' ')).toMatch(steps)
  expect(mail.html).toContain(`npm install -g ${commandUrl ?? 'FILE'}`)
})

describe('approve this sign-in', () => {
  it('has the code in its subject, unless the person has to type it', () => {
    expect(approval('laptop-1', 'JLDD-VDDV').subject).toBe('Approve sign-in JLDD-VDDV on laptop-1')
    expect(approval('laptop-1', null).subject).toBe('Approve a sign-in on laptop-1')
  })

  it('contains the link alone on a line, the code, the expiry and the warning', () => {
    const { text } = approval('Ada’s laptop', 'BCDF-GHJK')
    expect(text.split('\n').filter((line) => line.includes('svcm_'))).toEqual([LINK])
    expect(text).toContain('BCDF-GHJK')
    expect(text).toContain('until 09:10 UTC')
    expect(text.replace(/\s+/g, ' ')).toContain(
      'Only approve if you started this sign-in and the code matches your screen.',
    )
  })

  it('says that the device reported no name, instead of quoting one', () => {
    const { subject, text } = approval('Unnamed device', 'JLDD-VDDV')
    expect(subject).toBe('Approve sign-in JLDD-VDDV on an unnamed device')
    expect(text).toContain('the device reported no name')
    expect(text).not.toMatch(/reported by the device|“Unnamed/)
  })

  it('does not contain the code when the person has to type it', () => {
    const { text, html } = approval('Ada’s laptop', null)
    for (const part of [text, html]) expect(part.replace(/\s+/g, ' ')).toContain('It is not in this email.')
  })
})
