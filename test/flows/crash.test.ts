import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryOf } from '../support/people.ts'
import { linkOf, openMailbox } from '../support/mailbox.ts'
import { newFolder, refusedStart, startProcess } from '../support/process.ts'
import type { TestProcess } from '../support/process.ts'
import { json, outcomeOf } from '../support/requests.ts'

const ADA = 'ada@example.com'

type Tokens = { readonly accessToken: string; readonly refreshToken: string }

/** A folder for one embedded database and one directory file, with a mailbox; processes come and go. */
async function openHouse() {
  const folder = await newFolder()
  const mailbox = await openMailbox()
  const directoryFile = path.join(folder.path, 'directory.yaml')
  await writeFile(directoryFile, directoryOf([ADA]))
  return {
    env: {
      SVC_DATABASE_URL: `embedded:${path.join(folder.path, 'db')}`,
      SVC_DIRECTORY_FILE: directoryFile,
      SVC_MAIL_URL: mailbox.url,
      SVC_LOG_LEVEL: 'debug',
      SVC_LIMIT_MAILS_PER_ADDRESS: '0',
      // However slow a start is on a busy machine.
      SVC_REFRESH_REPLAY_SECONDS: '600',
    },
    mailToken: () => linkOf(mailbox.newest(ADA)).searchParams.get('token') ?? '',
    async [Symbol.asyncDispose]() {
      await mailbox[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** The requests of a login to whichever process is up. */
function clientOf(running: () => TestProcess) {
  const post = (pathname: string, body: unknown) => fetch(running().origin + pathname, json(body))
  return {
    start: async (deviceId: string) =>
      (await (await post('/v1/auth/device/start', { email: ADA, deviceId })).json()) as { deviceCode: string },
    consume: (token: string) => post('/v1/auth/magic/consume', { token }),
    poll: (deviceCode: string) => post('/v1/auth/device/poll', { deviceCode }),
    refresh: (refreshToken: string) => post('/v1/auth/token/refresh', { account: ADA, refreshToken }),
    models: (accessToken: string) =>
      fetch(`${running().origin}/v1/models`, { headers: { authorization: `Bearer ${accessToken}` } }),
    isReady: async () => (await fetch(`${running().origin}/readyz`)).status === 200,
  }
}

describe('a process on an embedded database', () => {
  let house: Awaited<ReturnType<typeof openHouse>>
  let running: TestProcess
  const client = clientOf(() => running)
  const secrets: string[] = []
  /** What the processes that are gone have written. */
  let written = ''
  let devices = 0

  beforeAll(async () => {
    house = await openHouse()
    running = await startProcess(house.env)
  }, 90_000)
  afterAll(async () => {
    await running.kill()
    await house[Symbol.asyncDispose]()
  })

  async function started() {
    devices += 1
    const { deviceCode } = await client.start(`laptop-${devices}`)
    const token = house.mailToken()
    secrets.push(deviceCode, token)
    return { deviceCode, token }
  }
  async function approved() {
    const login = await started()
    expect((await client.consume(login.token)).status).toBe(200)
    return login
  }
  async function signedIn() {
    const login = await approved()
    return { ...login, tokens: await tokensOf(client.poll(login.deviceCode)) }
  }
  async function tokensOf(answer: Promise<Response>) {
    const tokens = (await (await answer).json()) as Tokens
    expect(tokens).toHaveProperty('refreshToken')
    secrets.push(tokens.accessToken, tokens.refreshToken)
    return tokens
  }
  async function killAndRestart(): Promise<void> {
    const { stdout, stderr } = await running.kill()
    written += stdout + stderr
    running = await startProcess(house.env)
  }

  /** Logins and sessions in every state, and what is true of them after a crash: nothing that was answered is lost. */
  async function answered() {
    const [pending, used, polled, refreshed] = [await started(), await approved(), await signedIn(), await signedIn()]
    const second = await tokensOf(client.refresh(refreshed.tokens.refreshToken))
    return async () => {
      expect(await outcomeOf(await client.poll(pending.deviceCode))).toBe('428 authorization_pending')
      expect((await client.consume(pending.token)).status).toBe(200)
      expect(await outcomeOf(await client.consume(used.token))).toBe('401 unauthorized')
      expect((await client.poll(used.deviceCode)).status).toBe(200)
      expect((await tokensOf(client.poll(polled.deviceCode))).refreshToken).toBe(polled.tokens.refreshToken)
      for (const { accessToken } of [polled.tokens, refreshed.tokens, second])
        expect((await client.models(accessToken)).status).toBe(200)
      const repeated = await tokensOf(client.refresh(refreshed.tokens.refreshToken))
      expect(repeated.refreshToken).toBe(second.refreshToken)
    }
  }

  /** Sends requests that write, and says what is true of them after a crash: all of each was done or nothing, and clients get on. */
  async function underWay() {
    const [consuming, polling, refreshing] = [await started(), await approved(), await signedIn()]
    const { refreshToken } = refreshing.tokens
    const answers = [
      bodyOf(client.consume(consuming.token)),
      bodyOf(client.poll(polling.deviceCode)),
      bodyOf(client.refresh(refreshToken)),
    ]
    return async () => {
      const [consumed, polled, refreshed] = await Promise.all(answers)
      const isApproved = (await client.poll(consuming.deviceCode)).status === 200
      if (consumed) expect(isApproved).toBe(true)
      // Approved: the link is spent. Not approved: it still works.
      expect((await client.consume(consuming.token)).status).toBe(isApproved ? 401 : 200)

      const again = await tokensOf(client.poll(polling.deviceCode))
      if (polled) expect(polled).toHaveProperty('refreshToken', again.refreshToken)

      const repeated = await tokensOf(client.refresh(refreshToken))
      if (refreshed) expect(refreshed).toHaveProperty('refreshToken', repeated.refreshToken)
      expect((await client.refresh(repeated.refreshToken)).status).toBe(200)
    }
  }

  // A process takes seconds to start, so one crash is for both.
  it.each([0, 10])(
    'that is killed %d ms into requests has done all of each or nothing, and loses nothing that it answered before',
    async (ms) => {
      const expectNothingLost = await answered()
      const expectAllOrNothing = await underWay()
      await new Promise((resolve) => setTimeout(resolve, ms))
      await killAndRestart()
      await expectAllOrNothing()
      await expectNothingLost()
    },
    60_000,
  )

  it('keeps a second one out, which says why, and is not disturbed', async () => {
    const refused = await refusedStart(house.env)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/database directory .* is in use by process \d+/)
    expect(refused.stderr).not.toMatch(/^\s+at /m)
    expect(await client.isReady()).toBe(true)
  }, 60_000)

  it('that is asked to stop answers what is under way, ends well, and leaves the database to the next', async () => {
    const { deviceCode } = await started()
    const underWay = client.poll(deviceCode)
    // The answer has begun to be made when the process has read the request.
    await client.isReady()
    const ended = running.stop()
    expect([428, 503]).toContain((await underWay).status)
    const { code, stdout, stderr } = await ended
    expect(code).toBe(0)
    written += stdout + stderr

    running = await startProcess(house.env)
    expect(await client.isReady()).toBe(true)
    expect([428, 429]).toContain((await client.poll(deviceCode)).status)
  }, 60_000)

  it('writes no secret to its log', () => {
    expect(secrets.length).toBeGreaterThan(10)
    expect(written.split('\n').length).toBeGreaterThan(30)
    expect(secrets.filter((secret) => written.includes(secret))).toEqual([])
    expect(written).not.toContain(ADA)
  })
})

describe.concurrent('a start', () => {
  /** Without a database a start has nothing else to fail by. */
  const GATEWAY = { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'none' }

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

  it('in production refuses what is for development only', async () => {
    const refused = await refusedStart({
      NODE_ENV: 'production',
      SVC_DATABASE_URL: 'memory:',
      SVC_MAIL_URL: 'outbox:mails',
      SVC_DEV_LINKS: '1',
    })
    expect(refused.code).toBe(1)
    for (const name of ['SVC_MAIL_URL', 'SVC_DEV_LINKS'])
      expect(refused.stderr).toMatch(new RegExp(`${name}: .*NODE_ENV=production`))
  })

  it('with a broken directory file names every mistake with its line', async () => {
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
    const refused = await refusedStart({ ...GATEWAY, SVC_DIRECTORY_FILE: file })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(file)
    for (const line of [2, 5, 6]) expect(refused.stderr).toMatch(new RegExp(`line ${line}\\b`))
    expect(refused.stderr).not.toMatch(/^\s+at /m)
  })

  it('with a directory file that is not there says so', async () => {
    const refused = await refusedStart({ ...GATEWAY, SVC_DIRECTORY_FILE: '/nowhere/directory.yaml' })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('/nowhere/directory.yaml')
  })
})

/** The body of an answer; null when the connection broke. */
function bodyOf(answer: Promise<Response>): Promise<unknown> {
  return answer.then((response) => response.json()).catch(() => null)
}
