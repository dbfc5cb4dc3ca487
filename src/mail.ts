import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createTransport } from 'nodemailer'
import { isLoopback } from './config/fields.ts'
import type { MailConfig } from './config/values.ts'
import type { Secret } from './kernel/secret.ts'
import type { Log } from './log.ts'
import { makePrivateDirectory } from './private-files.ts'

export type Mail = {
  /** One address from the database. An address that a client typed could name several recipients. */
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The link in the email, which a developer's outbox logs. */
  readonly link?: Secret
}

export type Mailer = {
  /**
   * Resolves when the server has accepted the email, and rejects with a `MailError` after ten seconds at the latest. An
   * email that still waits for a connection then is not sent.
   */
  send(mail: Mail): Promise<void>
  close(): void
}

/** An email was not accepted. The message names the failed step and never quotes the server or the email. */
export class MailError extends Error {
  constructor(step: string) {
    super(`The email was not accepted: ${step}.`)
    this.name = 'MailError'
  }
}

const CONNECT_TIMEOUT_MS = 5000
const SOCKET_TIMEOUT_MS = 10_000
const SEND_TIMEOUT_MS = 10_000
const MAX_CONNECTIONS = 5

/** Opens an SMTP server, or for development a directory that gets one .eml file for each email. */
export function openMailer(config: MailConfig, log: Pick<Log, 'showLink' | 'warn'>): Mailer {
  return config.kind === 'smtp' ? smtpMailer(config) : outboxMailer(config, log)
}

/**
 * `smtp:` requires STARTTLS unless the server is on this machine, so that nobody on the way can strip it and read the
 * password and the links. `smtp+insecure:` uses STARTTLS only when the server offers it.
 */
function smtpMailer({ url, from }: MailConfig & { kind: 'smtp' }): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url.reveal())
  const secure = protocol === 'smtps:'
  const host = hostname.replace(/^\[|\]$/g, '')
  const transport = createTransport({
    host,
    port: port ? Number(port) : secure ? 465 : 587,
    secure,
    requireTLS: protocol === 'smtp:' && !isLoopback(host),
    ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    pool: true,
    maxConnections: MAX_CONNECTIONS,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
  })
  // Emails cannot be removed from the transport's own queue: a burst would delay new emails by sending expired ones.
  const semaphore = makeSemaphore(MAX_CONNECTIONS)
  return {
    send: (mail) =>
      withDeadline(async (expired) => {
        const release = await semaphore(expired)
        await transport.sendMail(toMessage(mail, from)).finally(release)
      }),
    close: () => transport.close(),
  }
}

function outboxMailer(
  { directory, from }: MailConfig & { kind: 'outbox' },
  log: Pick<Log, 'showLink' | 'warn'>,
): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: 'unix' })
  return {
    async send(mail) {
      const { message } = await transport.sendMail(toMessage(mail, from))
      const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
      const file = path.join(directory, `${time}-${randomUUID().slice(0, 8)}.eml`)
      try {
        if (await makePrivateDirectory(directory)) log.warn({ path: directory }, 'files.made_private')
        await writeFile(file, message, { mode: 0o600 })
      } catch (error) {
        throw new MailError(`the outbox ${directory} cannot be written (${codeOf(error)})`)
      }
      if (mail.link) log.showLink({ link: mail.link.reveal(), file }, 'email.saved')
    },
    close: () => transport.close(),
  }
}

function toMessage({ to, subject, text, html }: Mail, from: string) {
  // Addresses are objects, because nodemailer parses a string as a list of addresses.
  return { from: { name: 'svc', address: from }, to: { name: '', address: to }, subject, text, html }
}

/** Acquires a place and resolves with the function that releases it; rejects when the signal aborts first. */
type Semaphore = (signal: AbortSignal) => Promise<() => void>

/** Makes a semaphore that grants its places in the order of the requests. */
function makeSemaphore(places: number): Semaphore {
  const waiting = new Set<() => void>()
  let free = places
  const release = () => {
    const [next] = waiting
    if (next) next()
    else free += 1
  }
  const wait = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const proceed = () => {
        waiting.delete(proceed)
        resolve()
      }
      waiting.add(proceed)
      const giveUp = () => waiting.delete(proceed) && reject(new Error('The deadline has passed.'))
      signal.addEventListener('abort', giveUp, { once: true })
    })
  return async (signal) => {
    if (free > 0) free -= 1
    else await wait(signal)
    return release
  }
}

/** Bounds the wait and the whole SMTP conversation together, because a server can be slow at every step. */
async function withDeadline(send: (expired: AbortSignal) => Promise<void>): Promise<void> {
  const deadline = Promise.withResolvers<never>()
  const controller = new AbortController()
  const timer = setTimeout(() => {
    deadline.reject(Object.assign(new Error('The deadline has passed.'), { code: 'EDEADLINE' }))
    controller.abort()
  }, SEND_TIMEOUT_MS)
  const sending = send(controller.signal)
  try {
    await Promise.race([sending, deadline.promise])
  } catch (error) {
    // After the deadline, the result of sending is not used.
    sending.catch(() => {})
    throw new MailError(codeOf(error))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The code of Node or nodemailer for a failure, such as `ECONNREFUSED` or `EENVELOPE`. Their messages quote the server.
 */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unknown'
}
