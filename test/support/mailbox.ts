import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SMTPServer } from 'smtp-server'

export type ReceivedMail = { readonly to: readonly string[]; readonly raw: string; readonly text: string }

/** At which step of a mail the listener misbehaves, and how. */
export type MailFault = 'none' | 'refuse-recipient' | 'refuse-data' | 'hang-at-recipient' | 'hang-after-data'

export type Mailbox = AsyncDisposable & {
  /** For SVC_MAIL_URL. */
  readonly url: string
  readonly mails: readonly ReceivedMail[]
  fault: MailFault
  /** The newest mail to an address with this subject: an approval link unless given. */
  newest(to: string, subject?: string): ReceivedMail
  /** The mails to an address with this subject, once there are so many; rejects when they do not come. */
  waitFor(to: string, subject: string, count?: number): Promise<readonly ReceivedMail[]>
}

/** A real SMTP listener on loopback. It keeps what arrives. */
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
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw, text: textOf(raw) })
        if (state.fault !== 'hang-after-data') done()
      })
    },
  })
  server.on('error', () => {})
  const listener = server.listen(0, '127.0.0.1')
  await new Promise((resolve) => listener.once('listening', resolve))
  const { port } = listener.address() as AddressInfo
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
      if (!mail) throw new Error(`No mail "${subject}" came for ${to}.`)
      return mail
    },
    async waitFor(to, subject, count = 1) {
      for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(5)) {
        const found = mails.filter(isOf(to, subject))
        if (found.length >= count) return found
      }
      throw new Error(`${count} mails "${subject}" for ${to} did not come.`)
    },
    [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

const APPROVAL_SUBJECT = 'Approve this sign-in'

/** Mails in the background come when they come. */
const PATIENCE_MS = 5000

function isOf(to: string, subject: string): (mail: ReceivedMail) => boolean {
  return (mail) => mail.to.includes(to) && mail.raw.includes(`Subject: ${subject}\r\n`)
}

/** The link of a mail that points to the service. */
export function linkOf(mail: ReceivedMail): URL {
  const link = /https?:\/\/\S+\/v1\/auth\/magic\/consume\?token=[\w-]+/.exec(mail.text)?.[0]
  if (!link) throw new Error('The mail has no link.')
  return new URL(link)
}

function refusal(responseCode: number): Error {
  return Object.assign(new Error('refused by the test'), { responseCode })
}

/** The text part, decoded from quoted-printable. */
function textOf(raw: string): string {
  const part = raw.split(/^--\S+\r?\n/m).find((candidate) => /^content-type: text\/plain/im.test(candidate)) ?? raw
  const body = part.slice(part.search(/\r?\n\r?\n/)).trim()
  const quoted = /^content-transfer-encoding: quoted-printable/im.test(part)
  return quoted ? Buffer.from(unquoted(body), 'latin1').toString('utf8') : body
}

function unquoted(text: string): string {
  return text
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
}
