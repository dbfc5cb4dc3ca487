import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryOf } from '../support/people.ts'
import { linkOf, openMailbox } from '../support/mailbox.ts'
import type { Mailbox } from '../support/mailbox.ts'
import { newFolder, refusedStart, startProcess } from '../support/process.ts'
import type { TestProcess } from '../support/process.ts'
import { json, outcomeOf } from '../support/requests.ts'

const ADA = 'ada@example.com'

/** A folder for one embedded database and one directory file, with a mailbox; processes come and go. */
async function openHouse() {
  const folder = await newFolder()
  const mailbox = await openMailbox()
  const directoryFile = path.join(folder.path, 'directory.yaml')
  await writeFile(directoryFile, directoryOf([ADA]))
  const env = {
    SVC_DATABASE_URL: `embedded:${path.join(folder.path, 'db')}`,
    SVC_DIRECTORY_FILE: directoryFile,
    SVC_MAIL_URL: mailbox.url,
  }
  return {
    mailbox,
    env,
    start: () => startProcess(env),
    async [Symbol.asyncDispose]() {
      await mailbox[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

type House = Awaited<ReturnType<typeof openHouse>>
type Tokens = { readonly accessToken: string; readonly refreshToken: string }

const mailToken = (mailbox: Mailbox) => linkOf(mailbox.newest(ADA)).searchParams.get('token') ?? ''

/** The requests of a login to whichever process is up. */
function clientOf(running: TestProcess) {
  const post = (pathname: string, body: unknown) => fetch(running.origin + pathname, json(body))
  return {
    start: async (deviceId: string) =>
      (await (await post('/v1/auth/device/start', { email: ADA, deviceId })).json()) as { deviceCode: string },
    consume: (token: string) => post('/v1/auth/magic/consume', { token }),
    poll: (deviceCode: string) => post('/v1/auth/device/poll', { deviceCode }),
    refresh: (refreshToken: string) => post('/v1/auth/token/refresh', { account: ADA, refreshToken }),
    models: (accessToken: string) =>
      fetch(`${running.origin}/v1/models`, { headers: { authorization: `Bearer ${accessToken}` } }),
  }
}

/** Sends a request and kills the process while it is at it; its answer, if there was one. */
async function killDuring(running: TestProcess, afterMs: number, send: () => Promise<Response>) {
  const answer = send().then(
    async (response) => ({ status: response.status, body: (await response.json()) as unknown }),
    () => null,
  )
  await new Promise((resolve) => setTimeout(resolve, afterMs))
  await running.kill()
  return answer
}

describe('kill -9', () => {
  let house: House
  beforeAll(async () => {
    house = await openHouse()
  })
  afterAll(() => house[Symbol.asyncDispose]())

  it(
    'right after each answer loses nothing of it: not the login, not the session, not the keys',
    { timeout: 90_000 },
    async () => {
      let running = await house.start()
      const restart = async () => {
        await running.kill()
        running = await house.start()
        return clientOf(running)
      }
      try {
        const { deviceCode } = await clientOf(running).start('laptop-1')
        let client = await restart()
        expect(await outcomeOf(await client.poll(deviceCode))).toBe('428 authorization_pending')

        const token = mailToken(house.mailbox)
        expect((await client.consume(token)).status).toBe(200)
        client = await restart()
        expect(await outcomeOf(await client.consume(token))).toBe('401 unauthorized')

        const first = (await (await client.poll(deviceCode)).json()) as Tokens
        client = await restart()
        const again = (await (await client.poll(deviceCode)).json()) as Tokens
        expect(again.refreshToken).toBe(first.refreshToken)
        expect((await client.models(first.accessToken)).status).toBe(200)

        const second = (await (await client.refresh(first.refreshToken)).json()) as Tokens
        client = await restart()
        const repeated = await client.refresh(first.refreshToken)
        expect(await repeated.json()).toMatchObject({ refreshToken: second.refreshToken })
        expect((await client.models(second.accessToken)).status).toBe(200)
      } finally {
        await running.kill()
      }
    },
  )

  it.each([0, 4, 12])(
    '%d ms into a request leaves all of it or nothing, and the client gets on',
    { timeout: 90_000 },
    async (ms) => {
      let running = await house.start()
      const killed = async (send: (client: ReturnType<typeof clientOf>) => Promise<Response>) => {
        const answer = await killDuring(running, ms, () => send(clientOf(running)))
        running = await house.start()
        return { answer, client: clientOf(running) }
      }
      try {
        const { deviceCode } = await clientOf(running).start(`laptop-${ms}`)
        const token = mailToken(house.mailbox)

        const consumed = await killed((client) => client.consume(token))
        const isApproved = (await consumed.client.poll(deviceCode)).status === 200
        if (consumed.answer) expect(isApproved).toBe(true)
        // Approved: the link is spent. Not approved: it still works.
        expect((await consumed.client.consume(token)).status).toBe(isApproved ? 401 : 200)

        const polled = await killed((client) => client.poll(deviceCode))
        const tokens = (await (await polled.client.poll(deviceCode)).json()) as Tokens
        if (polled.answer) expect(polled.answer.body).toMatchObject({ refreshToken: tokens.refreshToken })

        const refreshed = await killed((client) => client.refresh(tokens.refreshToken))
        const repeated = await refreshed.client.refresh(tokens.refreshToken)
        expect(await outcomeOf(repeated)).toBe('200')
        const next = (await repeated.json()) as Tokens
        if (refreshed.answer) expect(refreshed.answer.body).toMatchObject({ refreshToken: next.refreshToken })
        expect((await refreshed.client.refresh(next.refreshToken)).status).toBe(200)
      } finally {
        await running.kill()
      }
    },
  )
})

describe('a start', () => {
  it('on a directory that another process has is refused, and disturbs nobody', { timeout: 60_000 }, async () => {
    await using house = await openHouse()
    await using running = await house.start()
    const refused = await refusedStart(house.env)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/database directory .* is in use by process \d+/)
    expect(refused.stderr).not.toMatch(/^\s+at /m)
    expect((await fetch(`${running.origin}/readyz`)).status).toBe(200)

    await running.stop()
    await using next = await house.start()
    expect((await fetch(`${next.origin}/readyz`)).status).toBe(200)
  })

  it('with broken settings names them all and shows no value', async () => {
    const refused = await refusedStart({
      SVC_BASE_URL: 'hunter2',
      SVC_MAIL_URL: 'hunter2',
      SVC_LOGIN_SECONDS: 'hunter2',
      SVC_DATABASE_URL: 'hunter2',
    })
    expect(refused.code).toBe(1)
    for (const name of ['SVC_BASE_URL', 'SVC_MAIL_URL', 'SVC_LOGIN_SECONDS', 'SVC_DATABASE_URL'])
      expect(refused.stderr).toContain(`  ${name}: `)
    expect(refused.stderr + refused.stdout).not.toContain('hunter2')
    expect(refused.stderr).not.toMatch(/^\s+at /m)
  })

  it.each([
    ['links that approve in the start response', { SVC_DEV_LINKS: '1' }, 'SVC_DEV_LINKS'],
    ['mail that is not sent', { SVC_MAIL_URL: 'outbox:mails' }, 'SVC_MAIL_URL'],
  ])('in production with %s is refused', async (_, env, name) => {
    const refused = await refusedStart({ NODE_ENV: 'production', SVC_DATABASE_URL: 'memory:', ...env } as Record<
      string,
      string
    >)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(name)
    expect(refused.stderr).toContain('NODE_ENV=production')
  })

  it('with a broken directory file names every mistake with its line', { timeout: 60_000 }, async () => {
    await using folder = await newFolder()
    const file = path.join(folder.path, 'directory.yaml')
    await writeFile(
      file,
      [
        'organizations:',
        '  - name: ACME',
        '    teams:',
        '      - name: core',
        '        models: [svc/none]',
        '        members: [{ email: nobody }]',
        'models: []',
      ].join('\n'),
    )
    const refused = await refusedStart({ SVC_DATABASE_URL: 'memory:', SVC_DIRECTORY_FILE: file })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(file)
    for (const line of [2, 5, 6]) expect(refused.stderr).toMatch(new RegExp(`line ${line}\\b`))
    expect(refused.stderr).not.toMatch(/^\s+at /m)
  })

  it('with a directory file that is not there says so', { timeout: 60_000 }, async () => {
    const refused = await refusedStart({ SVC_DATABASE_URL: 'memory:', SVC_DIRECTORY_FILE: '/nowhere/directory.yaml' })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('/nowhere/directory.yaml')
  })
})

it('a process that is asked to stop answers what is under way and ends well', { timeout: 60_000 }, async () => {
  await using house = await openHouse()
  const running = await house.start()
  const starting = fetch(`${running.origin}/v1/auth/device/start`, json({ email: ADA, deviceId: 'laptop-1' }))
  await new Promise((resolve) => setTimeout(resolve, 5))
  const ended = running.stop()
  expect([202, 503]).toContain((await starting).status)
  expect((await ended).code).toBe(0)
})
