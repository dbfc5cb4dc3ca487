import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openProfiles, toDeploymentUrl } from '../../src/cli/deployment/profiles.ts'
import type { TestService } from '../support/service.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { closedPort, newMachine } from './machine.ts'
import type { Machine } from './machine.ts'

let service: TestService
beforeAll(async () => {
  service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
})
afterAll(() => service[Symbol.asyncDispose]())

/** What a deployment answers at the start of a login, and when it is approved. */
const STARTED = { deviceCode: 'd', userCode: 'ABCD-EFGH', verificationUri: 'http://svc.test', intervalSeconds: 0.01 }
const GRANTED = {
  account: 'grace@example.com',
  organization: 'acme',
  team: '@acme/core',
  accessToken: 'a',
  refreshToken: 'r',
}

const TEAM = { endpoint: 'http://svc.test', defaultModel: null }

type Answer = readonly [status: number, body: object]

/** A deployment that approves every login, except where `answer` says otherwise. */
async function startDeployment(answer: (path: string) => Answer | undefined) {
  const usual = (path: string): Answer => {
    if (path.includes('/start')) return [202, STARTED]
    return [200, path.includes('/poll') ? GRANTED : TEAM]
  }
  const server = createServer(({ url = '' }, res) => {
    const [status, body] = answer(url) ?? usual(url)
    res.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r' }).end(JSON.stringify(body))
  })
  const url = `http://localhost:${await listenOnLoopback(server)}`
  return { url, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) }
}

const folderOf = (machine: Machine, url: string) =>
  path.join(machine.home, '.config/svc/deployments', encodeURIComponent(url))

describe('svc login', () => {
  it('shows a code and an address, waits for the approval, and says who is signed in and what to do next', async () => {
    await using machine = await newMachine()
    const url = service.config.baseUrl
    const { status, stdout, stderr } = await machine.start(['login', url, '--email', 'ada@example.com'], {
      onPrint: async (printed) => {
        if (printed.includes('Waiting for the approval')) await service.approveByMail('ada@example.com')
      },
    })
    expect(stdout).toMatch(/Check that it shows this code: [A-Z]{4}-[A-Z]{4}\n/)
    expect(stdout).toContain(`${url}/v1/auth/magic/consume?token=`)
    expect(stdout).toContain(
      `Signed in to ${url} as ada@example.com, team @acme/core, device ${hostname()}.\nNext: svc run codex`,
    )
    expect([status, stderr]).toEqual([0, ''])
  })

  it('keeps credentials that only their owner can read', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    const folder = path.join(machine.home, '.config/svc')
    expect((await stat(folder)).mode & 0o077).toBe(0)
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    expect(files.map(({ name }) => name).sort()).toEqual(['current', 'device-id', 'profile.json', 'tokens.json'])
    for (const { parentPath, name } of files) {
      expect((await stat(path.join(parentPath, name))).mode & 0o777, name).toBe(0o600)
    }
  })

  it('obeys XDG_CONFIG_HOME', async () => {
    await using machine = await newMachine()
    const ran = await machine.svc(['login', service.config.baseUrl, '--email', 'nobody@example.com'], {
      env: { XDG_CONFIG_HOME: path.join(machine.home, 'elsewhere') },
    })
    expect(ran.status).toBe(1)
    expect(await readdir(path.join(machine.home, 'elsewhere/svc'))).toEqual(['device-id'])
  })

  it('is the same device after signing in again, and by default the same deployment', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    const before = await readFile(path.join(machine.home, '.config/svc/device-id'), 'utf8')
    const { stderr } = await machine.svc(['login'])
    expect(stderr).toContain(`svc login ${service.config.baseUrl} --email ADDRESS`)
    await machine.signIn(service)
    const { stdout } = await machine.svc(['devices', '--json'])
    const devices = JSON.parse(stdout) as { deviceId: string; deviceName: string; current: boolean }[]
    expect(devices.filter(({ deviceId }) => deviceId === before.trim())).toEqual([
      expect.objectContaining({ deviceName: hostname(), current: true }),
    ])
  })

  it.each(['valid', 'expired'])(
    'ends the earlier session of another account at the deployment, with an access token that is %s',
    async (token) => {
      await using machine = await newMachine()
      await machine.signIn(service)
      await machine.svc(['invite', 'grace@example.com'])
      await using copy = await newMachine(machine)
      if (token === 'expired') service.clock.advance({ seconds: 901 })
      expect((await machine.signIn(service, 'grace@example.com')).stderr).toBe('')
      expect((await copy.svc(['devices'])).status).toBe(3)
      expect((await machine.svc(['devices'])).status).toBe(0)
    },
  )

  it('ends the earlier session of the same account that was under another device id', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    await using copy = await newMachine(machine)
    await rm(path.join(machine.home, '.config/svc/device-id'))
    expect((await machine.signIn(service)).stderr).toBe('')
    expect((await copy.svc(['devices'])).status).toBe(3)
    expect((await machine.svc(['devices'])).status).toBe(0)
  })

  it('leaves it to the deployment to end the earlier session of the same account and device', async () => {
    const logouts = () =>
      service.log.filter(({ fields }) => 'route' in fields && fields.route === '/v1/auth/logout').length
    await using machine = await newMachine()
    await machine.signIn(service)
    const before = logouts()
    await machine.signIn(service)
    expect(logouts()).toBe(before)
  })

  it('says nothing of an earlier session of another account that has already ended', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    await machine.svc(['invite', 'grace@example.com'])
    await using copy = await newMachine(machine)
    await copy.svc(['logout'])
    expect((await machine.signIn(service, 'grace@example.com')).stderr).toBe('')
  })

  it('signs in when the earlier session of another account cannot be ended, and says how to end it', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    await using other = await startDeployment((path) => (path.includes('/logout') ? [503, {}] : undefined))
    await machine.moveProfile(service, other.url)
    const ran = await machine.svc(['login', other.url, '--email', 'grace@example.com'])
    expect([ran.status, ran.stderr]).toEqual([
      0,
      'The earlier session of ada@example.com on this machine could not be ended: The service answered 503. (request r) ' +
        `To end it, sign in as ada@example.com at ${other.url}/device and sign this machine out there.\n`,
    ])
  })

  it('signs in where the files of the last login are damaged', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    await writeFile(machine.tokensOf(service), '{')
    await writeFile(path.join(folderOf(machine, service.config.baseUrl), 'profile.json'), '{')
    await writeFile(path.join(machine.home, '.config/svc/current'), '?')
    expect(await machine.signIn(service)).toMatchObject({ stderr: '' })
    expect((await machine.svc(['status'])).status).toBe(0)
  })

  it.each(['', '\0\0\0\0'])(
    'works where the id of the device was damaged when the machine stopped: %j',
    async (damaged) => {
      await using machine = await newMachine()
      await mkdir(path.join(machine.home, '.config/svc'), { recursive: true })
      await writeFile(path.join(machine.home, '.config/svc/device-id'), damaged)
      await machine.signIn(service)
      const id = (await readFile(path.join(machine.home, '.config/svc/device-id'), 'utf8')).trim()
      const devices = JSON.parse((await machine.svc(['devices', '--json'])).stdout) as { deviceId: string }[]
      expect(devices).toContainEqual(expect.objectContaining({ deviceId: id, current: true }))
    },
  )

  it('keeps the earlier sign-in whole when the deployment fails after the approval', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    await using failing = await startDeployment((path) => (path.includes('/teams/') ? [500, {}] : undefined))
    const { url } = failing
    await machine.moveProfile(service, url)
    const stored = () =>
      Promise.all(
        ['profile', 'tokens'].map((name) => readFile(path.join(folderOf(machine, url), `${name}.json`), 'utf8')),
      )
    const before = await stored()
    const ran = await machine.svc(['login', url, '--email', 'grace@example.com'])
    expect([ran.status, ran.stderr]).toEqual([
      1,
      'The login was approved, but then it failed: The service answered 500. (request r) The new session was ended. ' +
        `To sign in, run: svc login ${url} --email grace@example.com\n`,
    ])
    expect(await stored()).toEqual(before)
  })

  it('ends the new session when its credentials cannot be stored, and says so', async () => {
    await using machine = await newMachine()
    await using other = await newMachine()
    await other.signIn(service)
    const fail = `if (content.includes('accessToken')) throw Object.assign(new Error('x'), { code: 'ENOSPC' })`
    const url = service.config.baseUrl
    const ran = await machine.start(['login', url, '--email', 'ada@example.com'], {
      env: { NODE_OPTIONS: `--import=${await machine.watchWrites(fail)}` },
      onPrint: async (printed) => {
        if (printed.includes('Waiting for the approval')) await service.approveByMail('ada@example.com')
      },
    })
    expect([ran.status, ran.stderr]).toEqual([
      1,
      `The login was approved, but then it failed: ${machine.tokensOf(service)} cannot be used: its disk is full. ` +
        `The new session was ended. To sign in, run: svc login ${url} --email ada@example.com\n`,
    ])
    const id = (await readFile(path.join(machine.home, '.config/svc/device-id'), 'utf8')).trim()
    expect((await other.svc(['devices', '--json'])).stdout).not.toContain(id)
  })

  it('says that the new session could not be ended after a failure', async () => {
    await using machine = await newMachine()
    await using failing = await startDeployment((path) => (/teams|logout/.test(path) ? [503, {}] : undefined))
    expect((await machine.svc(['login', failing.url, '--email', 'grace@example.com'])).stderr).toContain(
      'The new session could not be ended: The service answered 503. (request r) To sign in, run: svc login http',
    )
  })

  it('leaves the machine signed out when it is killed between its two files', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    await machine.svc(['invite', 'grace@example.com'])
    const kill = `if (content.includes('accessToken')) process.kill(process.pid, 'SIGKILL')`
    const ran = await machine.start(['login', service.config.baseUrl, '--email', 'grace@example.com'], {
      env: { NODE_OPTIONS: `--import=${await machine.watchWrites(kill)}` },
      onPrint: async (printed) => {
        if (printed.includes('Waiting for the approval')) await service.approveByMail('grace@example.com')
      },
    })
    expect(ran.status).toBe(null)
    // The next command would wait for ten seconds until the lock is stale.
    await rm(`${machine.tokensOf(service)}.lock`)
    expect((await machine.svc(['status'])).stderr).toContain('You are not signed in')
    await machine.signIn(service, 'grace@example.com')
    expect((await machine.svc(['status'])).stdout).toContain('grace@example.com')
  })

  it('takes localhost and 127.0.0.1 for one deployment', async () => {
    await using machine = await newMachine()
    await machine.signIn(service)
    const { stdout, status } = await machine.svc([
      'token',
      '--url',
      `127.0.0.1:${new URL(service.config.baseUrl).port}/`,
    ])
    expect([status, stdout.trim()]).toEqual([0, (await machine.svc(['token'])).stdout.trim()])
  })

  it.each([
    ['[::1]:8787', 'http://[::1]:8787'],
    ['127.0.0.2:8787', 'http://127.0.0.2:8787'],
  ])('takes %s for another deployment than localhost, which need not lead there', (given, url) => {
    expect(toDeploymentUrl(given)).toBe(url)
  })

  it('is one device where several logins begin on a new machine at the same time', async () => {
    await using machine = await newMachine()
    const ids = await Promise.all(Array.from({ length: 8 }, () => openProfiles(machine.home).deviceId()))
    expect(new Set(ids).size).toBe(1)
  })

  it('stores nothing when it is interrupted', async () => {
    await using machine = await newMachine()
    const ran = await machine.start(['login', service.config.baseUrl, '--email', 'ada@example.com'], {
      onPrint: (_, child) => void child.kill('SIGINT'),
    })
    expect([ran.status, ran.stderr]).toEqual([130, 'Interrupted.\n'])
    expect((await machine.svc(['token'])).status).toBe(3)
  })

  it.each([
    ['when it was not approved in time', [400, { error: { code: 'expired', message: 'Expired.' } }] as const, '/poll'],
    ['when it fails after the approval', [500, {}] as const, '/teams/'],
  ])('repeats the address and the team in its advice %s', async (_when, refusal, at) => {
    await using machine = await newMachine()
    await using failing = await startDeployment((path) => (path.includes(at) ? refusal : undefined))
    const { stderr } = await machine.svc(['login', failing.url, '--email', "o'hara@example.com", '--team', '@acme/two'])
    const advice = `svc login ${failing.url} --email 'o'\\''hara@example.com' --team @acme/two\n`
    expect(stderr.slice(-advice.length)).toBe(advice)
  })

  it('signs in to the team of the last login again, while the address is invited to it', async () => {
    const core = { name: 'core', models: [], members: [{ email: 'ada@example.com' }] }
    const team = (name: string) => ({ ...core, name })
    const directory = { organizations: [{ name: 'acme', teams: [core, team('two')] }], models: [] }
    await using several = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
    // Without --team, the oldest invitation is taken: that to @acme/core, which the service has started with.
    several.clock.advance({ seconds: 1 })
    await several.applyDirectory(JSON.stringify(directory))
    await using machine = await newMachine()
    const url = several.config.baseUrl
    const signIn = async (...options: string[]) =>
      machine.svc(['login', url, '--email', 'ada@example.com', ...options], {
        onPrint: async (printed) => {
          if (printed.includes('Waiting for the approval')) await several.approveByMail('ada@example.com')
        },
      })
    expect((await signIn()).stdout).toContain('team @acme/core,')
    expect((await signIn('--team', '@acme/two')).stdout).toContain('team @acme/two,')
    expect((await signIn()).stdout).toContain('team @acme/two,')
    expect((await signIn('--email', 'Ada@Example.com')).stdout).toContain('team @acme/two,')

    await several.applyDirectory(JSON.stringify({ ...directory, organizations: [{ name: 'acme', teams: [core] }] }))
    expect((await signIn()).stdout).toContain('team @acme/core,')
    expect((await signIn('--team', '@acme/two')).stderr).toBe(
      'ada@example.com has no active invitation to @acme/two. Ask an admin of the team for one, or leave out --team.\n',
    )
  })

  it('says that the login was denied', async () => {
    await using machine = await newMachine()
    const { accessToken } = await service.signIn('ada@example.com', { deviceId: 'approver' })
    const ran = await machine.svc(['login', service.config.baseUrl, '--email', 'ada@example.com'], {
      onPrint: async (printed) => {
        const userCode = /code: (\S+)/.exec(printed)?.[1]
        if (!userCode) return
        await service.clientOf(accessToken).POST('/device', { body: { userCode, action: 'deny' } })
      },
    })
    expect(ran.status).toBe(1)
    expect(ran.stderr).toMatch(/denied/i)
  })

  it.each([
    [['login', '--email'], /argument missing/],
    [['login', 'ftp://svc.example.com', '--email', 'a@b.c'], /is not the URL of a deployment/],
    [['login', 'not an address', '--email', 'a@b.c'], /is not the URL of a deployment/],
    [['login', 'ada@example.com'], /^"ada@example\.com" is not the URL .*, and the email address with --email$/m],
    [['login', 'https://ada:secret@svc.example.com', '--email', 'a@b.c'], /must not contain a user name or a password/],
    [['login', 'svc.example.com/v1/', '--email', 'a@b.c'], /leave out \/v1\/, and give https:\/\/svc\.example\.com$/m],
    [['login', 'svc.example.com'], /svc login https:\/\/svc\.example\.com --email ADDRESS/],
    [['login', '--url', 'svc.example.com'], /svc login https:\/\/svc\.example\.com --email ADDRESS/],
    [['login'], /svc login http:\/\/localhost:8787 --email ADDRESS/],
    [
      ['login', 'a.example.com', '--team', '@b/c'],
      /svc login https:\/\/a\.example\.com --email ADDRESS --team @b\/c$/m,
    ],
  ])('refuses %j as wrong usage', async (args, message) => {
    await using machine = await newMachine()
    const ran = await machine.svc(args)
    expect([ran.status, ran.stdout]).toEqual([2, ''])
    expect(ran.stderr).toMatch(message)
  })
})

describe('a deployment that cannot be used is explained in a sentence:', () => {
  type Answer = { status: number; type?: string; body: string; location?: string; requestId?: string }

  /** A server that gives every request the same answer. With a request id, it counts as a deployment of svc. */
  async function startOther({ status, type, body, location, requestId }: Answer) {
    const headers = {
      ...(type && { 'content-type': type }),
      ...(location && { location }),
      ...(requestId && { 'x-request-id': requestId }),
    }
    const server = createServer((_, res) => void res.writeHead(status, headers).end(body))
    const port = await listenOnLoopback(server)
    return { port, [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())) }
  }

  async function failure(url: string): Promise<string> {
    await using machine = await newMachine()
    const ran = await machine.svc(['login', url, '--email', 'ada@example.com'])
    expect([ran.status, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr.trim().split('\n')).toHaveLength(1)
    return ran.stderr
  }

  it('nothing listens there', async () => {
    const port = await closedPort()
    expect(await failure(`localhost:${port}`)).toContain(`Nothing listens at localhost:${port}. Check the URL`)
  })

  it('a host that does not exist', async () => {
    expect(await failure('https://svc.invalid')).toMatch(/no host named svc\.invalid|svc\.invalid cannot be looked up/)
  })

  it.each([{}, { requestId: 'req_1' }])('a web page of a proxy or of another site, with %j', async (id) => {
    const page = { status: 200, type: 'text/html; charset=utf-8', body: '<h1>Sign in</h1>' }
    await using other = await startOther({ ...page, ...id })
    expect(await failure(`localhost:${other.port}`)).toContain('answered 200 with a web page instead of JSON')
  })

  it.each([
    { status: 200, type: 'text/plain', body: 'OK' },
    { status: 200, body: '<h1>Sign in</h1>' },
    { status: 403, type: 'text/plain', body: 'Blocked by a firewall.' },
    { status: 401, type: 'text/plain', body: 'Sign in to the proxy.' },
  ])('another server that answers $status with "$body"', async (answer) => {
    await using other = await startOther(answer)
    const message = `answered ${answer.status} with something else instead of JSON. Check the URL.`
    expect(await failure(`localhost:${other.port}`)).toContain(message)
  })

  it.each([301, 308])('an address that redirects to the service with %i, as from http to https', async (status) => {
    const { baseUrl } = service.config
    await using other = await startOther({ status, body: '', location: `${baseUrl}/v1/auth/device/start` })
    expect(await failure(`localhost:${other.port}`)).toContain(
      `http://localhost:${other.port} redirects to ${baseUrl}. If that is the service, run: svc login ${baseUrl}.`,
    )
  })

  it('a proxy that does not reach the service', async () => {
    await using other = await startOther({ status: 502, type: 'text/plain', body: 'Bad Gateway' })
    expect(await failure(`localhost:${other.port}`)).toContain('answered 502: it cannot reach the service now.')
  })

  it('a gateway, which has no such route', async () => {
    await using gateway = await startOther({ status: 404, type: 'application/json', body: '{}', requestId: 'req_1' })
    expect(await failure(`localhost:${gateway.port}`)).toContain('is not a control plane of svc')
  })

  it.each([
    [200, '{}'],
    [200, '{"status":"ok"}'],
    [200, '"ok"'],
    [200, '[]'],
    [404, '{}'],
  ])('another service, which answers every request with %i and %s', async (status, body) => {
    await using other = await startOther({ status, type: 'application/json', body })
    expect(await failure(`localhost:${other.port}`)).toBe(
      `http://localhost:${other.port} answered ${status}, but not as svc: another service is at this address. ` +
        'Check the URL.\n',
    )
  })

  it('a deployment whose answer is not that of a login', async () => {
    await using other = await startOther({ status: 200, type: 'application/json', body: '{}', requestId: 'req_1' })
    expect(await failure(`localhost:${other.port}`)).toContain(
      `http://localhost:${other.port} did not start a login. Check the URL of the service and your proxy.`,
    )
  })

  it('one whose texts would change the terminal', async () => {
    const error = { code: 'invalid_request', message: 'No\u001b[2J, not \u009b31mso.' }
    const ours = { type: 'application/json', requestId: 'req_1' }
    await using refusing = await startOther({ ...ours, status: 400, body: JSON.stringify({ error }) })
    expect(await failure(`localhost:${refusing.port}`)).toContain('No[2J, not 31mso.')
    const started = {
      deviceCode: 'd',
      userCode: 'A\u001b[2JB',
      verificationUri: 'x:\u001b]8;;y',
      intervalSeconds: 0.01,
    }
    await using starting = await startOther({ ...ours, status: 202, body: JSON.stringify(started) })
    await using machine = await newMachine()
    const { stdout } = await machine.svc(['login', `localhost:${starting.port}`, '--email', 'ada@example.com'])
    expect(stdout).toContain('A [2JB')
    expect(stdout).not.toContain('\u001b')
  })

  it('https where the service speaks http', async () => {
    expect(await failure(`https://localhost:${service.port}`)).toContain('does not speak TLS. Try the URL with http://')
  })

  it('an address that is not invited', async () => {
    await using machine = await newMachine()
    const ran = await machine.svc(['login', service.config.baseUrl, '--email', 'nobody@example.com'])
    expect(ran.status).toBe(1)
    expect(ran.stderr).toMatch(/invit.* \(request \S+\)/)
  })
})
