import { SMTPServer } from 'smtp-server'
import { listenOnLoopback } from './loopback.ts'
import { waitUntil } from './wait.ts'

export type ReceivedMail = {
  readonly to: readonly string[]
  /** Decoded, on one line. */
  readonly subject: string
  readonly raw: string
  readonly text: string
}

/** The step of an email at which the server refuses or stops answering. */
export type MailFault = 'none' | 'refuse-recipient' | 'refuse-data' | 'hang-at-recipient' | 'hang-after-data'

export type Mailbox = AsyncDisposable & {
  /** For SVC_MAIL_URL. */
  readonly url: string
  readonly mails: readonly ReceivedMail[]
  fault: MailFault
  /**
   * The newest email to an address whose subject starts with this text, by default the one with the approval link;
   * throws when there is none.
   */
  newest(to: string, subject?: string): ReceivedMail
  /**
   * The emails to an address whose subject starts with this text, once there are `count` of them; rejects when they do
   * not arrive.
   */
  waitFor(to: string, subject: string, count?: number): Promise<readonly ReceivedMail[]>
}

/** Starts a real SMTP server on loopback that keeps the emails it receives. */
export async function openMailbox(): Promise<Mailbox> {
  const mails: ReceivedMail[] = []
  const state = { fault: 'none' as MailFault }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo(_address, _session, done) {
      if (state.fault === 'hang-at-recipient') return
      done(state.fault === 'refuse-recipient' ? refusal(550) : null)
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        if (state.fault === 'refuse-data') return done(refusal(554))
        const raw = Buffer.concat(chunks).toString('utf8')
        const to = session.envelope.rcptTo.map(({ address }) => address)
        mails.push({ to, subject: subjectOf(raw), raw, text: textOf(raw) })
        if (state.fault !== 'hang-after-data') done()
      })
    },
  })
  server.on('error', () => {})
  const port = await listenOnLoopback(server)
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    get fault() {
      return state.fault
    },
    set fault(fault) {
      state.fault = fault
    },
    newest(to, subject = APPROVAL_SUBJECT) {
      const mail = mails.findLast(isOf(to, subject))
      if (!mail) throw new Error(`No email "${subject}" to ${to} arrived. ${listOf(mails)}`)
      return mail
    },
    waitFor(to, subject, count = 1) {
      const find = () => mails.filter(isOf(to, subject))
      return waitUntil(`${count} emails "${subject}" to ${to}`, find, (found) => found.length >= count)
    },
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** How the subject of an email with an approval link starts. */
export const APPROVAL_SUBJECT = 'Approve '

/** How the subject of an email with a sign-in link starts. */
export const SIGN_IN_SUBJECT = 'Your sign-in link'

function isOf(to: string, subject: string): (mail: ReceivedMail) => boolean {
  return (mail) => mail.to.includes(to) && mail.subject.startsWith(subject)
}

/** What arrived, for messages of failed tests. */
function listOf(mails: readonly ReceivedMail[]): string {
  const lines = mails.map(({ to, subject }) => `"${subject}" to ${to.join()}`)
  return `Arrived: ${lines.join(', ') || 'none'}.`
}

/** The link in an email that points to the service. */
export function linkOf(mail: ReceivedMail): URL {
  const link = /https?:\/\/\S+\/(?:v1\/auth\/magic\/consume|sign-in\/email)\?token=[\w-]+/.exec(mail.text)?.[0]
  if (!link) throw new Error(`The email has no link: ${mail.text}`)
  return new URL(link)
}

/** The token of the link in an email. */
export function mailToken(mail: ReceivedMail): string {
  return linkOf(mail).searchParams.get('token') ?? ''
}

function refusal(responseCode: number): Error {
  return Object.assign(new Error('refused by the test'), { responseCode })
}

/** The subject of an email, unfolded (RFC 5322, section 2.2.3) and decoded (RFC 2047). */
export function subjectOf(raw: string): string {
  const [, folded = ''] = /^Subject: (.*(?:\r\n[ \t].*)*)/m.exec(raw) ?? []
  return folded
    .replaceAll(/\r\n(?=[ \t])/g, '')
    .replaceAll(/(?<=\?=)\s+(?==\?)/g, '')
    .replaceAll(/=\?UTF-8\?([QB])\?([^?]*)\?=/gi, (_, encoding: string, text: string) =>
      toWordBytes(encoding.toUpperCase(), text).toString('utf8'),
    )
}

function toWordBytes(encoding: string, text: string): Buffer {
  return encoding === 'B' ? Buffer.from(text, 'base64') : Buffer.from(unquoted(text.replaceAll('_', ' ')), 'latin1')
}

/** The text part of an email, decoded from quoted-printable. */
export function textOf(raw: string): string {
  // Only the boundary: a folded line of the text may also begin with two hyphens, because tokens contain them.
  const boundary = /boundary="?([^"\r\n;]+)/i.exec(raw)?.[1]
  const parts = boundary === undefined ? [raw] : raw.split(`--${boundary}`)
  const part = parts.find((candidate) => /^content-type: text\/plain/im.test(candidate)) ?? raw
  const body = part.slice(part.search(/\r?\n\r?\n/)).trim()
  const quoted = /^content-transfer-encoding: quoted-printable/im.test(part)
  return quoted ? Buffer.from(unquoted(body), 'latin1').toString('utf8') : body
}

function unquoted(text: string): string {
  return text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}
