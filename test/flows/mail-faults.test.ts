import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Secret } from '../../src/kernel/secret.ts'
import { MailError, openMailer } from '../../src/mail.ts'
import { mailTokenOf } from '../support/people.ts'
import { json, messageOf, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const ADA = 'ada@example.com'
const start = (service: TestService) =>
  service.fetch('/v1/auth/device/start', json({ email: ADA, deviceId: 'laptop-1' }))

/** A mail server that answers every line by a script; null answers nothing. */
type Script = { readonly greeting: string | null; readonly answer?: (line: string) => string | null }

/** Says this of itself, which must not reach whoever starts a login. */
const WORDS = 'mx.internal.example says no to ada'

const faults: [string, Script, string][] = [
  ['answers 421 to everybody', { greeting: `421 ${WORDS}` }, 'smtp://'],
  ['greets and hangs', { greeting: '220 hi', answer: () => null }, 'smtp://'],
  ['accepts the connection and says nothing', { greeting: null }, 'smtp://'],
  ['refuses the password', { greeting: '220 hi', answer: smtp({ AUTH: `535 ${WORDS}` }) }, 'smtp://user:wrong@'],
  ['refuses the sender', { greeting: '220 hi', answer: smtp({ MAIL: `553 ${WORDS}` }) }, 'smtp://'],
  ['refuses the recipient', { greeting: '220 hi', answer: smtp({ RCPT: `550 ${WORDS}` }) }, 'smtp://'],
  ['refuses the mail', { greeting: '220 hi', answer: smtp({ '.': `554 ${WORDS}` }) }, 'smtp://'],
  ['hangs after the mail', { greeting: '220 hi', answer: smtp({ '.': null }) }, 'smtp://'],
  ['speaks no TLS where TLS is wanted', { greeting: '220 hi', answer: smtp({}) }, 'smtps://'],
  ['speaks another language', { greeting: 'HTTP/1.1 400 Bad Request' }, 'smtp://'],
]

describe.concurrent('a mail server that', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService()
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it.each(faults)('%s: the mail failed, within ten seconds', { timeout: 40_000 }, async (_, script, scheme) => {
    await using server = await listen(script)
    await expectFailure(`${scheme}127.0.0.1:${server.port}`)
  })

  it('refuses the connection: the mail failed', async () => {
    await expectFailure(`smtp://127.0.0.1:${await closedPort()}`)
  })

  it('has no name in the world: the mail failed', { timeout: 40_000 }, async () => {
    await expectFailure('smtp://mail.invalid:25')
  })

  it(
    'takes a mail and hangs: the login is over, the link opens nothing, and its page says to start again',
    { timeout: 40_000 },
    async () => {
      service.mailbox.fault = 'hang-after-data'
      expect(await outcomeOf(await start(service))).toBe('503 email_unavailable')

      // The mail is there all the same.
      const token = mailTokenOf(service, ADA)
      expect(await outcomeOf(await service.fetch('/v1/auth/magic/consume', json({ token })))).toBe('401 unauthorized')
      const page = await service.fetch(`/v1/auth/magic/consume?token=${token}`, { headers: { accept: 'text/html' } })
      expect(page.status).toBe(401)
      expect(await page.text()).toContain('start again')

      service.mailbox.fault = 'none'
      expect((await service.signIn(ADA)).account).toBe(ADA)
    },
  )

  async function expectFailure(url: string): Promise<void> {
    const mailer = openMailer(
      { kind: 'smtp', url: new Secret(url), from: 'svc@example.com' },
      { showLink: () => undefined },
    )
    const started = performance.now()
    const error: unknown = await mailer
      .send({ to: ADA, subject: 'Subject', text: 'Text', html: '<p>Text</p>' })
      .catch((reason: unknown) => reason)
    mailer.close()
    expect(performance.now() - started).toBeLessThan(11_500)
    expect(error).toBeInstanceOf(MailError)
    expect(inspect(error)).not.toContain(WORDS)
  }
})

it('a login whose mail fails is over, and the answer says no more than that', async () => {
  await using service = await startService()
  for (const fault of ['refuse-recipient', 'refuse-data'] as const) {
    service.mailbox.fault = fault
    const response = await start(service)
    expect(await outcomeOf(response), fault).toBe('503 email_unavailable')
    expect(await messageOf(response)).toBe('The mail could not be sent. Nothing was started; try again later.')
  }
  const rows = await service.database.prisma.deviceLogin.findMany({ select: { status: true, userCode: true } })
  expect(rows).toEqual([
    { status: 'cancelled', userCode: null },
    { status: 'cancelled', userCode: null },
  ])
  expect(inspect(service.log, { depth: 9 })).not.toContain('refused by the test')

  // A server that comes back is used again.
  service.mailbox.fault = 'none'
  expect((await start(service)).status).toBe(202)
})

it('a login without anybody who takes its mail is over', async () => {
  await using service = await startService({ env: { SVC_MAIL_URL: `smtp://127.0.0.1:${await closedPort()}` } })
  expect(await outcomeOf(await start(service))).toBe('503 email_unavailable')
  expect(await service.database.prisma.deviceLogin.findMany()).toMatchObject([{ status: 'cancelled' }])
})

/** An SMTP conversation in which only these commands go wrong. */
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
      for (const said of lines.map((line) => answer?.(line))) if (said) socket.write(`${said}\r\n`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

/** A port where nobody listens any more. */
async function closedPort(): Promise<number> {
  await using server = await listen({ greeting: null })
  return server.port
}
