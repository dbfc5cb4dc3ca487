import { describe, expect, it } from 'vitest'
import { writeMessage } from '../../src/kernel/formats/mail-message.ts'
import { subjectOf, textOf } from '../support/mailbox.ts'

const PARTS = {
  from: { name: 'svc', address: 'no-reply@svc.example.com' },
  to: 'ada@example.com',
  subject: 'Hello',
  text: 'Hello.\n',
  html: '<p>Hello.</p>',
  date: new Date(Date.UTC(2026, 10, 2, 3, 4, 5)),
  id: 'c0ffee',
}

describe('an email', () => {
  it('has the headers of a message with two forms of the same content', () => {
    expect(writeMessage(PARTS).split('\r\n')).toEqual([
      'From: svc <no-reply@svc.example.com>',
      'To: ada@example.com',
      'Subject: Hello',
      'Message-ID: <c0ffee@svc.example.com>',
      'Date: Mon, 02 Nov 2026 03:04:05 +0000',
      'Auto-Submitted: auto-generated',
      'MIME-Version: 1.0',
      'Content-Type: multipart/alternative;',
      ' boundary="svc-c0ffee"',
      '',
      '--svc-c0ffee',
      'Content-Type: text/plain; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      'Hello.',
      '',
      '--svc-c0ffee',
      'Content-Type: text/html; charset=utf-8',
      'Content-Transfer-Encoding: quoted-printable',
      '',
      '<p>Hello.</p>',
      '--svc-c0ffee--',
      '',
    ])
  })

  const texts = [
    'a=b&c==3D',
    'blanks at the end \t\nand \n within a line',
    `a long line ${'x'.repeat(200)} end`,
    '='.repeat(200),
    `${'“ä” '.repeat(60)}end`,
    `😀${'a'.repeat(70)}😀😀`,
  ]
  it.each(texts)('is decoded to the same text: %j', (text) => {
    const written = writeMessage({ ...PARTS, text })
    expect(textOf(written).replaceAll('\r\n', '\n')).toBe(text)
    expect(written.split('\r\n').filter((line) => line.length > 76 || /[^\t\x20-\x7e]|[\t ]$/.test(line))).toEqual([])
  })

  const subjects = [
    'Approve “laptop”',
    `${'ä'.repeat(80)} end`,
    '😀'.repeat(30),
    'a =?UTF-8?Q?b?= c',
    'a\u200B.\u200Bb',
  ]
  it.each(subjects)('is decoded to the same subject: %j', (subject) => {
    const written = writeMessage({ ...PARTS, subject })
    expect(subjectOf(written)).toBe(subject)
    expect(written.split('\r\n').filter((line) => line.length > 90 || /[^\t\x20-\x7e]/.test(line))).toEqual([])
  })
})
