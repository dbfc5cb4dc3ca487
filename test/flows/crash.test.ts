import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { StartedDeviceLogin, TokenSet } from '../../generated/sdk/index.js'
import { directoryOf } from '../support/people.ts'
import { mailToken, openMailbox } from '../support/mailbox.ts'
import { newFolder, refusedStart, startProcess } from '../support/process.ts'
import type { TestProcess } from '../support/process.ts'
import { bearerOf, expectJson, json, outcomeOf } from '../support/requests.ts'
import { waitUntil } from '../support/wait.ts'

const ADA = 'ada@example.com'
/** Each process takes seconds to start, and longer on a machine with other work. */
const RESTART_TIMEOUT_MS = 180_000

/** The settings of a service on an embedded database, for processes that run one after another, and its mailbox. */
async function prepareService() {
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
      // Longer than a restart takes on a busy machine.
      SVC_REFRESH_REPLAY_SECONDS: '600',
    },
    mailToken: () => mailToken(mailbox.newest(ADA)),
    async [Symbol.asyncDispose]() {
      await mailbox[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** The requests of a login, to the process that runs now. */
function clientOf(running: () => TestProcess) {
  const post = (pathname: string, body: unknown) => fetch(running().origin + pathname, json(body))
  return {
    start: (deviceId: string) =>
      expectJson<StartedDeviceLogin>('The start', post('/v1/auth/device/start', { email: ADA, deviceId })),
    consume: (token: string) => post('/v1/auth/magic/consume', { token }),
    poll: (deviceCode: string) => post('/v1/auth/device/poll', { deviceCode }),
    refresh: (refreshToken: string) => post('/v1/auth/token/refresh', { account: ADA, refreshToken }),
    models: (accessToken: string) => fetch(`${running().origin}/v1/models`, { headers: bearerOf(accessToken) }),
    isReady: async () => (await fetch(`${running().origin}/readyz`)).status === 200,
  }
}

describe('a process with an embedded database', () => {
  let prepared: Awaited<ReturnType<typeof prepareService>>
  let running: TestProcess
  const client = clientOf(() => running)
  const secrets: string[] = []
  /** The output of the processes that have ended. */
  let written = ''
  let devices = 0

  beforeAll(async () => {
    prepared = await prepareService()
    running = await startProcess(prepared.env)
  }, RESTART_TIMEOUT_MS)
  afterAll(async () => {
    await running.kill()
    await prepared[Symbol.asyncDispose]()
  })

  async function started() {
    devices += 1
    const { deviceCode } = await client.start(`laptop-${devices}`)
    const token = prepared.mailToken()
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
    const tokens = await expectJson<TokenSet>('The poll or refresh', answer)
    secrets.push(tokens.accessToken, tokens.refreshToken)
    return tokens
  }
  async function killAndRestart(): Promise<void> {
    const { stdout, stderr } = await running.kill()
    written += stdout + stderr
    running = await startProcess(prepared.env)
  }

  /** Makes logins and sessions in several states; returns the check that a crash lost nothing that was answered. */
  async function makeAnsweredRequests() {
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

  /**
   * Prepares requests that write. What it returns sends them, and returns the check that a crash left each done or not
   * done, and that clients can continue.
   */
  async function prepareRequests() {
    const [consuming, polling, refreshing] = [await started(), await approved(), await signedIn()]
    const { refreshToken } = refreshing.tokens
    return () => {
      const answers = [
        bodyOf(client.consume(consuming.token)),
        bodyOf(client.poll(polling.deviceCode)),
        bodyOf(client.refresh(refreshToken)),
      ]
      return async () => {
        const [consumed, polled, refreshed] = await Promise.all(answers)
        const isApproved = (await client.poll(consuming.deviceCode)).status === 200
        if (consumed) expect(isApproved).toBe(true)
        // The link of an approved login is used up; that of a pending one still works.
        expect((await client.consume(consuming.token)).status).toBe(isApproved ? 401 : 200)

        const again = await tokensOf(client.poll(polling.deviceCode))
        if (polled) expect(polled).toHaveProperty('refreshToken', again.refreshToken)

        const repeated = await tokensOf(client.refresh(refreshToken))
        if (refreshed) expect(refreshed).toHaveProperty('refreshToken', repeated.refreshToken)
        expect((await client.refresh(repeated.refreshToken)).status).toBe(200)
      }
    }
  }

  // A process takes seconds to start, so all checks share a crash.
  it(
    'that is killed at once and soon after requests arrive has done each or not, and loses nothing that it answered',
    async () => {
      const expectNothingLost = await makeAnsweredRequests()
      const [sendSoonBefore, sendAtOnceBefore] = [await prepareRequests(), await prepareRequests()]
      const checks = [sendSoonBefore()]
      await sleep(10)
      checks.push(sendAtOnceBefore())
      await killAndRestart()
      for (const expectAllOrNothing of checks) await expectAllOrNothing()
      await expectNothingLost()
    },
    RESTART_TIMEOUT_MS,
  )

  it(
    'goes on while a second one refuses to start and names the owner of the database',
    async () => {
      const refused = await refusedStart(prepared.env)
      expect(refused.code).toBe(1)
      expect(refused.stderr).toMatch(/database directory .* is in use by process \d+/)
      expect(refused.stderr).not.toMatch(/^\s+at /m)
      expect(await client.isReady()).toBe(true)
    },
    RESTART_TIMEOUT_MS,
  )

  it(
    'answers pending requests at SIGTERM, ends with 0, and leaves the database to the next process',
    async () => {
      const { deviceCode } = await started()
      const underWay = client.poll(deviceCode)
      // Answered after the poll was read, so that the poll is under way.
      expect(await client.isReady()).toBe(true)
      const ended = running.stop()
      expect([428, 503]).toContain((await underWay).status)
      const { code, stdout, stderr } = await ended
      expect(code).toBe(0)
      written += stdout + stderr

      // Without a time to repeat a refresh, as the next test needs it.
      running = await startProcess({ ...prepared.env, SVC_REFRESH_REPLAY_SECONDS: '0' })
      expect(await client.isReady()).toBe(true)
      expect([428, 429]).toContain((await client.poll(deviceCode)).status)
    },
    RESTART_TIMEOUT_MS,
  )

  it('does not refresh the tokens of a client that gave up while the process was frozen', async () => {
    const { refreshToken } = (await signedIn()).tokens

    running.freeze()
    const headers = { 'content-type': 'application/json' }
    const request = httpRequest(`${running.origin}/v1/auth/token/refresh`, { method: 'POST', headers })
    await once(request.end(JSON.stringify({ account: ADA, refreshToken })), 'finish')
    request.on('error', () => undefined)
    // The connection is closed before the process goes on, so that it sees the request with its end.
    await new Promise((resolve) => request.once('close', resolve).destroy())
    // Some kernels hand over the end of a connection a moment after it was closed.
    await sleep(100)
    running.thaw()
    await waitUntil(
      'the request to end',
      () => running.output(),
      (output) => output.includes('"cut":true'),
    )
    // A token that was used up would end the session.
    expect((await client.refresh(refreshToken)).status).toBe(200)
  })

  // Only Linux shows the threads of a process.
  it.runIf(process.platform === 'linux')('has 16 threads for files and look-ups of host names', () => {
    const tasks = `/proc/${running.pid}/task`
    const names = readdirSync(tasks).map((task) => readFileSync(path.join(tasks, task, 'comm'), 'utf8').trim())
    expect(names.filter((name) => name === 'libuv-worker')).toHaveLength(16)
  })

  it('writes no secret to its output', () => {
    expect(secrets.length).toBeGreaterThan(10)
    expect(written.split('\n').length).toBeGreaterThan(30)
    expect(secrets.filter((secret) => written.includes(secret))).toEqual([])
    expect(written).not.toContain(ADA)
  })
})

describe('svc serve', () => {
  it('names each mistake of an invalid directory file with its line, also when a pipe cannot hold them all', async () => {
    await using folder = await newFolder()
    const file = path.join(folder.path, 'directory.yaml')
    const field = 'x'.repeat(10_000)
    const mistakes = Array.from({ length: 20 }, (_, at) => `  - { name: acme-${at}, ${field}: 1 }`)
    await writeFile(file, ['organizations:', ...mistakes].join('\n'))
    // Without a database, so that nothing else can make the start fail.
    const gateway = { SVC_ROLE: 'gateway', SVC_DATABASE_URL: 'none', SVC_DIRECTORY_FILE: file }
    const { code, stderr } = await refusedStart(gateway)
    expect(code).toBe(1)
    expect(stderr).toContain(file)
    expect(stderr).toMatch(/line 2\b[^]*line 21\b/)
    expect(stderr.split(field)).toHaveLength(21)
    expect(stderr).not.toMatch(/^\s+at /m)
  })
})

/** The body of an answer; null when the connection closed before it. */
function bodyOf(answer: Promise<Response>): Promise<unknown> {
  return answer.then((response) => response.json()).catch(() => null)
}
