import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type * as Nodemailer from 'nodemailer'
import type { MailConfig } from './config/values.ts'
import { codeOf, UNTRUSTED_CERTIFICATE } from './kernel/error-code.ts'
import { isLoopback, withoutBrackets } from './kernel/network/ip-address.ts'
import type { Secret } from './kernel/secret.ts'
import type { Log } from './log.ts'
import { explainDirectoryError, makePrivateDirectory } from './private-files.ts'

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

/** An email was not accepted. The message says where and why, and never quotes the server or the email. */
export class MailError extends Error {
  override readonly name = 'MailError'
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
 * `smtp:` requires STARTTLS unless the server is on this machine, so that no one on the network can strip it and read
 * the password and the links. `smtp+insecure:` uses STARTTLS only when the server offers it. Only where TLS cannot be
 * left out, it protects from anybody, and the certificate is checked.
 */
function smtpMailer({ url, from }: MailConfig & { kind: 'smtp' }): Mailer {
  const { protocol, hostname, username, password } = new URL(url.reveal())
  const host = withoutBrackets(hostname)
  const secure = protocol === 'smtps:'
  const requireTLS = protocol === 'smtp:' && !isLoopback(host)
  const transport = openLater(({ createTransport }) =>
    createTransport({
      host,
      port: portOf(url),
      secure,
      requireTLS,
      tls: { rejectUnauthorized: secure || requireTLS },
      ...(username && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
      pool: true,
      maxConnections: MAX_CONNECTIONS,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    }),
  )
  // Emails cannot be removed from the transport's own queue: a burst would delay new emails by sending expired ones.
  const semaphore = makeSemaphore(MAX_CONNECTIONS)
  return {
    send: (mail) =>
      withDeadline(async (expired) => {
        const release = await semaphore(expired)
        const sending = transport.open().then((opened) => opened.sendMail(toMessage(mail, from)))
        await sending.finally(release)
      }).catch((error: unknown) => {
        throw new MailError(`Email server ${serverOf(url)}: ${reasonOf(error)}.`)
      }),
    close: () => transport.close(),
  }
}

/** Where emails go, without a credential: `smtp://mail.example.com:587` or `outbox:DIRECTORY`. */
export function describeMailTarget(config: MailConfig): string {
  return config.kind === 'smtp' ? serverOf(config.url) : `outbox:${config.directory}`
}

function serverOf(url: Secret): string {
  const { protocol, hostname } = new URL(url.reveal())
  return `${protocol}//${hostname}:${portOf(url)}`
}

function portOf(url: Secret): number {
  const { protocol, port } = new URL(url.reveal())
  return port ? Number(port) : protocol === 'smtps:' ? 465 : 587
}

function outboxMailer(
  { directory, from }: MailConfig & { kind: 'outbox' },
  log: Pick<Log, 'showLink' | 'warn'>,
): Mailer {
  const transport = openLater(({ createTransport }) =>
    createTransport({ streamTransport: true, buffer: true, newline: 'unix' }),
  )
  return {
    async send(mail) {
      const { message } = await (await transport.open()).sendMail(toMessage(mail, from))
      const time = new Date().toISOString().replaceAll(/[:.]/g, '-')
      const file = path.join(directory, `${time}-${randomUUID().slice(0, 8)}.eml`)
      try {
        if (await makePrivateDirectory(directory)) log.warn({ path: directory }, 'files.made_private')
        await writeFile(file, message, { mode: 0o600 })
      } catch (error) {
        throw new MailError(`The email outbox ${directory} cannot be written: ${explainDirectoryError(error)}.`)
      }
      if (mail.link) log.showLink({ link: mail.link.reveal(), file }, 'email.saved')
    },
    close: () => transport.close(),
  }
}

/**
 * Opens a transport of nodemailer with the first email, because a start would wait for its 39 modules. `open` resolves
 * with the same transport each time. When the modules cannot be loaded, as with too many open files, the next email
 * loads them.
 */
function openLater<Transport extends { close(): void }>(make: (nodemailer: typeof Nodemailer) => Transport) {
  let transport: Transport | null = null
  return {
    async open(): Promise<Transport> {
      const nodemailer = await import('nodemailer')
      return (transport ??= make(nodemailer))
    },
    close: () => transport?.close(),
  }
}

/** Asks mail systems to send no automatic replies (RFC 3834, section 5). */
const AUTOMATIC = { 'Auto-Submitted': 'auto-generated' }

function toMessage({ to, subject, text, html }: Mail, from: string) {
  // Addresses are objects, because nodemailer parses a string as a list of addresses.
  const addresses = { from: { name: 'svc', address: from }, to: { name: '', address: to } }
  return { ...addresses, headers: AUTOMATIC, subject, text, html }
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
  // After the deadline, the result of sending is not used.
  sending.catch(() => {})
  try {
    await Promise.race([sending, deadline.promise])
  } finally {
    clearTimeout(timer)
  }
}

const NOT_TRUSTED = 'its TLS certificate is not trusted here, see NODE_EXTRA_CA_CERTS'

/** What the codes of Node's sockets and of nodemailer mean. A socket's code is more precise than nodemailer's. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the server closed the connection',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be looked up now',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  CERT_NOT_YET_VALID: 'its TLS certificate is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another name',
  ...Object.fromEntries(UNTRUSTED_CERTIFICATE.map((code) => [code, NOT_TRUSTED])),
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS on this port, which smtps:// requires',
  ECONNECTION: 'the server closed the connection',
  ETIMEDOUT: 'no answer in time',
  EDEADLINE: `the email was not accepted within ${SEND_TIMEOUT_MS / 1000} seconds`,
  EDNS: 'the host name cannot be looked up',
  ETLS: 'it does not offer STARTTLS, or TLS failed',
  EAUTH: 'it refused the user name or password',
  EENVELOPE: 'it refused the sender or the recipient',
  EMESSAGE: 'it refused the email',
  EPROTOCOL: 'its answer was not expected',
}

/** Why sending failed, in words and with the status of the server's answer. The text of the answer is left out. */
function reasonOf(error: unknown): string {
  const codes = [socketCodeOf(error), codeOf(error)].filter((code) => code !== null)
  const known = codes.map((code) => REASONS[code]).find((reason) => reason !== undefined)
  const [code = 'unknown error'] = codes
  const status = error instanceof Error && 'responseCode' in error ? Number(error.responseCode) : 0
  return `${known ?? code}${status > 0 ? ` (${status})` : ''}`
}

/** The code of the socket's error behind an error of nodemailer; null without one. */
function socketCodeOf(error: unknown): string | null {
  return error instanceof Error && 'originalCode' in error && typeof error.originalCode === 'string'
    ? error.originalCode
    : null
}
