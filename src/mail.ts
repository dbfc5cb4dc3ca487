import { randomUUID } from 'node:crypto'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createTransport } from 'nodemailer'
import type { MailConfig } from './config.ts'
import type { Secret } from './kernel/secret.ts'
import type { Log } from './log.ts'

export type Mail = {
  /** One address, from the database: an address that a stranger typed could name several. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** What the mail is for; a developer's outbox logs it. */
  readonly link?: Secret
}

export type Mailer = {
  /**
   * Resolves when the mail was accepted for delivery, within ten seconds; throws a `MailError` otherwise. A mail whose turn has not come
   * by then is never sent.
   */
  send(mail: Mail): Promise<void>
  close(): void
}

/** A mail was not accepted. Says which step failed; never what the server or the mail said. */
export class MailError extends Error {
  constructor(step: string) {
    super(`The mail was not accepted: ${step}.`)
    this.name = 'MailError'
  }
}

const CONNECT_MS = 5000
const SOCKET_MS = 10_000
const DEADLINE_MS = 10_000
const MOST_CONNECTIONS = 5

/** Opens the way out for mails: an SMTP server, or a folder with one .eml a mail for development. */
export function openMailer(config: MailConfig, log: Pick<Log, 'showLink'>): Mailer {
  return config.kind === 'smtp' ? smtpMailer(config) : outboxMailer(config, log)
}

function smtpMailer({ url, from }: MailConfig & { kind: 'smtp' }): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url.reveal())
  const secure = protocol === 'smtps:'
  const transport = createTransport({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port ? Number(port) : secure ? 465 : 587,
    secure,
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: MOST_CONNECTIONS,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SOCKET_MS,
  })
  // The transport has a line of its own, but nobody can leave that one: a burst would delay everybody's mails by mails that are too late.
  const enter = line(MOST_CONNECTIONS)
  return {
    send: (mail) =>
      inTime(async (tooLate) => {
        const leave = await enter(tooLate)
        await transport.sendMail(toMessage(mail, from)).finally(leave)
      }),
    close: () => transport.close(),
  }
}

function outboxMailer({ directory, from }: MailConfig & { kind: 'outbox' }, log: Pick<Log, 'showLink'>): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    async send(mail) {
      const { message } = await transport.sendMail(toMessage(mail, from))
      const file = path.join(
        directory,
        `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-${randomUUID().slice(0, 8)}.eml`,
      )
      try {
        await mkdir(directory, { recursive: true, mode: 0o700 })
        await writeFile(file, message, { mode: 0o600 })
      } catch (error) {
        throw new MailError(`the outbox ${directory} cannot be written (${codeOf(error)})`)
      }
      if (mail.link) log.showLink({ link: mail.link.reveal(), file }, 'mail.outbox')
    },
    close: () => transport.close(),
  }
}

function toMessage({ to, subject, text, html }: Mail, from: string) {
  // An object, not a string: a string is parsed as a list of addresses.
  return { from: { name: 'svc', address: from }, to: { name: '', address: to }, subject, text, html }
}

/** So many are inside at once, the others wait in the order of their coming; who has waited too long is not let in. */
function line(places: number): (tooLate: AbortSignal) => Promise<() => void> {
  const waiting = new Set<() => void>()
  let free = places
  const leave = () => {
    const [next] = waiting
    if (next) next()
    else free += 1
  }
  return async (tooLate) => {
    if (free > 0) free -= 1
    else await turn(tooLate)
    return leave
  }

  function turn(tooLate: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const next = () => {
        waiting.delete(next)
        resolve()
      }
      waiting.add(next)
      const giveUp = () => waiting.delete(next) && reject(new Error('It was too late.'))
      tooLate.addEventListener('abort', giveUp, { once: true })
    })
  }
}

/** One deadline for the wait and the whole conversation: a server can be slow at every step. */
async function inTime(send: (tooLate: AbortSignal) => Promise<void>): Promise<void> {
  const deadline = Promise.withResolvers<never>()
  const ending = new AbortController()
  const timer = setTimeout(() => {
    deadline.reject(Object.assign(new Error(), { code: 'EDEADLINE' }))
    ending.abort()
  }, DEADLINE_MS)
  const sending = send(ending.signal)
  try {
    await Promise.race([sending, deadline.promise])
  } catch (error) {
    // What it comes to in the end is of no interest any more.
    sending.catch(() => {})
    throw new MailError(codeOf(error))
  } finally {
    clearTimeout(timer)
  }
}

/** Node's and nodemailer's word for what failed: `ECONNREFUSED`, `EENVELOPE`. Their messages quote the server. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
