import { describe, expect, it } from 'vitest'
import { approveLoginMail } from '../../src/control/mails/approve-login.ts'
import type { ComposedMail } from '../../src/control/mails/compose.ts'
import { deviceSignedInMail, passkeyChangedMail, refreshReusedMail } from '../../src/control/mails/notices.ts'
import { Secret } from '../../src/kernel/secret.ts'

const LINK = 'https://svc.example.org/v1/auth/magic/consume?token=svcm_Q1w2E3r4T5y6U7i8O9p0A1s2D3f4G5h6J7k8L9z0X1c'
const DEVICE_PAGE = 'https://svc.example.org/device'
const AT = new Date('2026-11-21T09:00:12Z')
const UNTIL = new Date('2026-11-21T09:10:12Z')

/** Every email, with `name` wherever a caller's text is shown. */
function mailsWith(name: string): [string, ComposedMail][] {
  const occurrence = { at: AT, ip: '203.0.113.7', devicePage: DEVICE_PAGE }
  return [
    ['approve this sign-in', approval(name, 'BCDF-GHJK')],
    ['approve this sign-in, with a code to type', approval(name, null)],
    [
      'new device',
      deviceSignedInMail({ ...occurrence, deviceName: name, approvedVia: 'user_code', team: '@acme/core' }),
    ],
    ['passkey added', passkeyChangedMail({ ...occurrence, change: 'added', passkeyName: name })],
    ['passkey removed', passkeyChangedMail({ ...occurrence, change: 'removed', passkeyName: name })],
    ['refresh token reused', refreshReusedMail({ ...occurrence, deviceName: name })],
  ]
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

  it('has a subject that does not depend on the name', () => {
    expect(mailWith('Free money\r\nBcc: x@y.test').subject).toBe(plain.subject)
    expect(plain.subject).toMatch(/^[\x20-\x7E]{5,60}$/)
  })

  it('has text of at most 76 columns except for addresses', () => {
    const lines = mailWith('W'.repeat(64)).text.split('\n')
    expect(lines.filter((line) => line.length > 76 && !line.startsWith('https://'))).toEqual([])
  })

  it('contains in its text form everything that is in its HTML form', () => {
    const said = plain.html
      .replace(/<head>.*<\/head>/s, '')
      .replace(/<[^>]*>/g, '\n')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line && line !== plain.subject)
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
    expect([LINK, DEVICE_PAGE]).toContain(links[0])
  })

  it('loads nothing from the network', () => {
    expect(plain.html).not.toMatch(/\ssrc=|url\(|@import|<link|<style|<script/)
  })

  it('says when it happened and from which address', () => {
    expect(plain.text).toContain('21 Nov 2026, 09:00 UTC')
    expect(plain.text).toContain('203.0.113.7')
  })
})

describe('approve this sign-in', () => {
  it('contains the link alone on a line, the code, the expiry and the warning', () => {
    const { text } = approval('Ada’s laptop', 'BCDF-GHJK')
    expect(text.split('\n').filter((line) => line.includes('svcm_'))).toEqual([LINK])
    expect(text).toContain('BCDF-GHJK')
    expect(text).toContain('until 09:10 UTC')
    expect(text.replace(/\s+/g, ' ')).toContain(
      'Only approve if you started this sign-in and the code matches your screen.',
    )
  })

  it('does not contain the code when the person has to type it', () => {
    const { text, html } = approval('Ada’s laptop', null)
    for (const part of [text, html]) expect(part.replace(/\s+/g, ' ')).toContain('It is not in this email.')
  })
})
