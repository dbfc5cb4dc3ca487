import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { inspect, promisify } from 'node:util'
import { SMTPServer } from 'smtp-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../src/kernel/secret.ts'
import { MailError, openMailer } from '../../src/mail.ts'
import { freePort, listenOnLoopback } from '../support/loopback.ts'
import { makeCertificate } from '../support/network/certificate.ts'
import { mailTokenOf } from '../support/people.ts'
import { newFolder } from '../support/process.ts'
import { json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { withDeadline } from '../support/wait.ts'

const ADA = 'ada@example.com'
const start = (service: TestService) =>
  service.fetch('/v1/auth/device/start', json({ email: ADA, deviceId: 'laptop-1' }))

/** What a mail server sends: a greeting, and an answer to each line. Null means that it sends nothing. */
type Script = { readonly greeting: string | null; readonly answer?: (line: string) => string | null }

/** The text of the mail server's refusals, which must not reach the caller. */
const REFUSAL = 'mx.internal.example says no to ada'

const silent: Script = { greeting: '220 hi', answer: () => null }
const wrongPassword: Script = { greeting: '220 hi', answer: smtp({ AUTH: `535 ${REFUSAL}` }) }

/** The fault, the server, the URL before the host, and the reason that the operator reads. */
const faults: [string, Script, string, string][] = [
  ['refuses each connection with 421', { greeting: `421 ${REFUSAL}` }, 'smtp://', 'its answer was not expected (421)'],
  ['sends only its greeting', silent, 'smtp://', 'the email was not accepted within 10 seconds'],
  ['accepts the connection and sends nothing', { greeting: null }, 'smtp://', 'no answer in time'],
  ['refuses the password', wrongPassword, 'smtp://user:wrong@', 'it refused the user name or password (535)'],
  ['refuses the sender', refusing('MAIL', 553), 'smtp://', 'it refused the sender or the recipient (553)'],
  ['refuses the recipient', refusing('RCPT', 550), 'smtp://', 'it refused the sender or the recipient (550)'],
  ['refuses the email', refusing('.', 554), 'smtp://', 'it refused the email (554)'],
  [
    'does not answer after the email',
    { greeting: '220 hi', answer: smtp({ '.': null }) },
    'smtp://',
    'the email was not accepted within 10 seconds',
  ],
  [
    'does not support TLS at an smtps: URL',
    { greeting: '220 hi', answer: smtp({}) },
    'smtps://',
    'it does not speak TLS on this port, which smtps:// requires',
  ],
  ['does not speak SMTP', { greeting: 'HTTP/1.1 400 Bad Request' }, 'smtp://', 'its answer was not expected'],
]

describe.concurrent('a mail server that', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it.each(faults)('%s makes the email fail after its timeout', async (_, script, scheme, reason) => {
    await using server = await listen(script)
    await expectFailure(`${scheme}127.0.0.1:${server.port}`, reason)
  })

  it('refuses the connection makes the email fail', async () => {
    await expectFailure(`smtp://127.0.0.1:${await freePort()}`, 'connection refused')
  })

  it('has an unknown host name makes the email fail', async () => {
    await expectFailure('smtp://mail.invalid:25', 'the host name')
  })

  it('receives an email and does not answer ends the login, and its link opens a page that says to start again', async () => {
    service.mailbox.fault = 'hang-after-data'
    expect(await outcomeOf(await start(service))).toBe('503 email_unavailable')

    // The email has arrived, although its sender could not know.
    const token = mailTokenOf(service, ADA)
    expect(await outcomeOf(await service.fetch('/v1/auth/magic/consume', json({ token })))).toBe('401 unauthorized')
    const page = await service.fetch(`/v1/auth/magic/consume?token=${token}`, { headers: { accept: 'text/html' } })
    expect(page.status).toBe(401)
    expect(await page.text()).toContain('start again')

    service.mailbox.fault = 'none'
    expect((await service.signIn(ADA)).account).toBe(ADA)
  })

  async function expectFailure(url: string, reason: string): Promise<void> {
    const mailer = openMailer(
      { kind: 'smtp', url: new Secret(url), from: 'svc@example.com' },
      { showLink: () => undefined, warn: () => undefined },
    )
    const sent = mailer.send({ to: ADA, subject: 'Subject', text: 'Text', html: '<p>Text</p>' })
    const failure = sent.catch((reason: unknown) => reason)
    const error: unknown = await withDeadline('the email to fail', failure, 30_000)
    mailer.close()
    expect(error).toBeInstanceOf(MailError)
    expect(inspect(error)).toContain(`Email server ${url.replace(/\/\/.*@/, '//')}: ${reason}`)
    expect(inspect(error)).not.toContain(REFUSAL)
  }
})

it('cancels a login whose email fails, and does not repeat what the mail server said', async () => {
  await using service = await startService()
  for (const fault of ['refuse-recipient', 'refuse-data'] as const) {
    service.mailbox.fault = fault
    const response = await start(service)
    expect(await outcomeOf(response), fault).toBe('503 email_unavailable')
    expect(await messageOf(response)).toBe('The email could not be sent, so nothing was started. Try again later.')
  }
  const rows = await service.database.prisma.deviceLogin.findMany({ select: { status: true, userCode: true } })
  expect(rows).toEqual([
    { status: 'cancelled', userCode: null },
    { status: 'cancelled', userCode: null },
  ])
  expect(inspect(service.log, { depth: 9 })).not.toContain('refused by the test')

  // The next email goes to the server again.
  service.mailbox.fault = 'none'
  expect((await start(service)).status).toBe(202)
})

it('sends the next email after one whose modules could not be loaded, because too many files were open', async () => {
  await using folder = await newFolder()
  const program = `
    import { closeSync, openSync } from 'node:fs'
    import { openMailer } from ${JSON.stringify(new URL('../../src/mail.ts', import.meta.url).href)}
    const config = { kind: 'outbox', directory: ${JSON.stringify(folder.path)}, from: 'svc@example.com' }
    const mailer = openMailer(config, { showLink() {}, warn() {} })
    const send = () =>
      mailer.send({ to: 'ada@example.com', subject: 'Subject', text: 'Text', html: '' }).then(
        () => console.log('sent'),
        (error) => console.log(/too many open files/.test(error.message) ? 'too many open files' : String(error)),
      )
    const files = []
    try {
      for (;;) files.push(openSync('/dev/null'))
    } catch {}
    await send()
    files.forEach(closeSync)
    await send()`
  const node = [process.execPath, '--input-type=module', '--eval', program]
  const { stdout } = await promisify(execFile)('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', ...node])
  expect(stdout).toBe('too many open files\nsent\n')
})

describe('a mail server that does not offer STARTTLS', () => {
  /** Sends an email to a host that is this machine, under a name that the mailer does not take for a loopback address. */
  async function send(scheme: string): Promise<{ outcome: string; commands: string[] }> {
    const answer = smtp({ STARTTLS: '502 not implemented' })
    const commands: string[] = []
    await using server = await listen({ greeting: '220 hi', answer: (line) => (commands.push(line), answer(line)) })
    const url = new Secret(`${scheme}user:hunter2@127.1:${server.port}`)
    const mailer = openMailer({ kind: 'smtp', url, from: 'svc@example.com' }, { showLink() {}, warn() {} })
    const sent = mailer.send({ to: ADA, subject: 'Subject', text: 'Text', html: '<p>Text</p>' })
    const outcome = await sent.then(
      () => 'sent',
      (error: unknown) => (error instanceof MailError ? error.message : String(error)),
    )
    mailer.close()
    return { outcome, commands }
  }

  it('gets neither a password nor an email at smtp:', async () => {
    const { outcome, commands } = await send('smtp://')
    expect(outcome).toMatch(/^Email server smtp:\/\/127\.1:\d+: it does not offer STARTTLS, or TLS failed \(502\)\.$/)
    expect(commands.filter((line) => /^(AUTH|MAIL|DATA)/i.test(line))).toEqual([])
  })

  it('gets the email at smtp+insecure:', async () => {
    expect((await send('smtp+insecure://')).outcome).toBe('sent')
  })
})

describe('a mail server whose certificate is not trusted', () => {
  async function sendTo(host: string, secure: boolean): Promise<string> {
    const server = new SMTPServer({ ...makeCertificate(), secure, authOptional: true })
    server.on('error', () => undefined)
    const url = new Secret(`${host}:${await listenOnLoopback(server.server)}`)
    const mailer = openMailer({ kind: 'smtp', url, from: 'svc@example.com' }, { showLink() {}, warn() {} })
    const outcome = await mailer.send({ to: ADA, subject: 'Subject', text: 'Text', html: '<p>Text</p>' }).then(
      () => 'sent',
      (error: unknown) => (error instanceof MailError ? error.message : String(error)),
    )
    mailer.close()
    await new Promise((resolve) => server.close(() => resolve(null)))
    return outcome
  }

  it.each([
    ['smtps://localhost', true],
    ['smtp://127.1', false],
  ])('gets no email at %s', async (host, secure) => {
    const reason = 'its TLS certificate is not trusted here, see NODE_EXTRA_CA_CERTS.'
    expect(await sendTo(host, secure)).toMatch(new RegExp(`^Email server ${host}:\\d+: ${reason}$`))
  })

  it.each(['smtp://localhost', 'smtp+insecure://127.1'])(
    'gets the email at %s, which does not need TLS',
    async (host) => {
      expect(await sendTo(host, false)).toBe('sent')
    },
  )
})

it('cancels a login when no mail server listens', async () => {
  await using service = await startService({ env: { SVC_MAIL_URL: `smtp://127.0.0.1:${await freePort()}` } })
  expect(await outcomeOf(await start(service))).toBe('503 email_unavailable')
  const { prisma } = service.database
  const [login] = await prisma.deviceLogin.findMany()
  expect(login).toMatchObject({ status: 'cancelled' })
  const audit = { kind: 'device_login.cancelled', subjectId: login?.id ?? '' }
  expect(await prisma.auditEvent.findMany({ where: audit })).toMatchObject([
    { ip: '127.0.0.1', details: { reason: 'mail_failed' } },
  ])
})

/** A mail server that refuses this command with this status. */
function refusing(command: string, status: number): Script {
  return { greeting: '220 hi', answer: smtp({ [command]: `${status} ${REFUSAL}` }) }
}

/** The answers of a mail server in which only those to the given commands differ from success. */
function smtp(wrong: Record<string, string | null>): (line: string) => string | null {
  let inData = false
  return (line) => {
    const verb = line.split(' ')[0]?.toUpperCase() ?? ''
    if (inData && line !== '.') return null
    if (inData) {
      inData = false
      return '.' in wrong ? (wrong['.'] ?? null) : '250 ok'
    }
    if (verb in wrong) return wrong[verb] ?? null
    if (verb === 'EHLO') return '250-here\r\n250 AUTH PLAIN LOGIN'
    if (verb !== 'DATA') return '250 ok'
    inData = true
    return '354 go on'
  }
}

async function listen({ greeting, answer }: Script): Promise<AsyncDisposable & { readonly port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    if (greeting) socket.write(`${greeting}\r\n`)
    let rest = ''
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\r\n')
      rest = lines.pop() ?? ''
      for (const reply of lines.map((line) => answer?.(line))) if (reply) socket.write(`${reply}\r\n`)
    })
  })
  return {
    port: await listenOnLoopback(server),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
