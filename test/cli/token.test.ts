import { mkdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isFresh } from '../../src/cli/deployment/token-age.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { closeHttpServer, listenOnLoopback } from '../support/loopback.ts'
import { atOnce } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { closedPort, newMachine } from './machine.ts'
import type { Machine, Ran } from './machine.ts'

let service: TestService
let machine: Machine
beforeAll(async () => {
  service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
  machine = await newMachine()
  await machine.signIn(service)
})
afterAll(async () => {
  await machine[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
})

const refreshes = () =>
  service.log.filter(({ fields }) => 'route' in fields && fields.route === '/v1/auth/token/refresh').length

/** Signs a machine in, and ends its session without its knowledge. */
async function signInAndEnd(other: Machine): Promise<void> {
  await other.signIn(service)
  const { accessToken } = JSON.parse(await readFile(other.tokensOf(service), 'utf8')) as { accessToken: string }
  await service.clientOf(accessToken).POST('/v1/auth/logout')
}

describe('svc token', () => {
  it('prints the access token and nothing else, and sends no request while it is fresh', async () => {
    const before = service.log.length
    const ran = await machine.start(['token'])
    expect(ran).toEqual({ status: 0, stderr: '', stdout: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+\n$/) })
    expect(service.log.length).toBe(before)
    expect((await service.clientOf(ran.stdout.trim()).GET('/device')).response.status).toBe(200)
  })

  it('gives a token that is valid for a minute at least', async () => {
    const before = (await machine.svc(['token'])).stdout
    await machine.age(service, 780)
    expect((await machine.svc(['token'])).stdout).toBe(before)
    await machine.age(service, 70)
    expect((await machine.svc(['token'])).stdout).not.toBe(before)
  })

  it('gives a new token with --new, however fresh the last one is', async () => {
    const before = (await machine.svc(['token'])).stdout
    const after = (await machine.svc(['token', '--new'])).stdout
    expect(after).not.toBe(before)
    expect((await machine.svc(['token'])).stdout).toBe(after)
  })

  it('causes one refresh when eight shells ask at once, and all of them get a good token', async () => {
    await machine.age(service, 900)
    const before = refreshes()
    const ran = await atOnce(8, () => machine.start(['token']))
    expect(ran.map(({ status, stderr }) => [status, stderr])).toEqual(Array(8).fill([0, '']))
    expect(refreshes() - before).toBe(1)
    const [token, ...others] = new Set(ran.map(({ stdout }) => stdout.trim()))
    expect(others).toEqual([])
    expect((await service.clientOf(token ?? '').GET('/device')).response.status).toBe(200)
  })

  it('loads neither an HTTP client nor prompts: it must start fast', async () => {
    const spy = path.join(machine.home, 'spy.mjs')
    await writeFile(spy, `process.on('exit', () => console.error(process.moduleLoadList.join('\\n')))`)
    const { stderr } = await machine.start(['token'], { env: { NODE_OPTIONS: `--import=${spy}` } })
    expect(stderr).toContain('NativeModule fs')
    expect(stderr).not.toMatch(/undici|NativeModule https?$|NativeModule readline$/m)
  })

  it('exits with 3 and one line when not signed in', async () => {
    await using fresh = await newMachine()
    expect(await fresh.svc(['token'])).toEqual({
      status: 3,
      stdout: '',
      stderr: 'You are not signed in. Run: svc login URL\n',
    })
    expect(await fresh.svc(['token', '--url', 'svc.example.com'])).toEqual({
      status: 3,
      stdout: '',
      stderr: 'You are not signed in to https://svc.example.com. Run: svc login https://svc.example.com\n',
    })
  })

  it('exits with 3 when the session has ended, and forgets its tokens', async () => {
    await using other = await newMachine()
    await signInAndEnd(other)
    await other.age(service, 900)
    const ran = await other.svc(['token'])
    expect([ran.status, ran.stdout]).toEqual([3, ''])
    expect(ran.stderr).toMatch(/^Your session at \S+ has ended\. .* Run: svc login \S+\n$/)
    expect((await other.svc(['token'])).stderr).toContain('You are not signed in to')
  })

  it.each([
    ['keys', 3, /^Your session at \S+ has ended\. .* Run: svc login \S+\n$/],
    ['logout', 0, /^$/],
  ])('svc %s exits with %i when the session has ended', async (command, status, printed) => {
    await using other = await newMachine()
    await signInAndEnd(other)
    const ran = await other.svc([command])
    expect(ran).toMatchObject({ status, stderr: expect.stringMatching(printed) as string })
  })

  it('exits with 1 and keeps the tokens when the deployment cannot be reached', async () => {
    await using other = await newMachine(machine)
    const host = `localhost:${await closedPort()}`
    const moved = path.join(other.home, '.config/svc/deployments', encodeURIComponent(`http://${host}`))
    await other.age(service, 900)
    await other.moveProfile(service, `http://${host}`)
    expect(await other.svc(['token', '--url', host])).toEqual({
      status: 1,
      stdout: '',
      stderr: `Nothing listens at ${host}. Check the URL, or start the service.\n`,
    })
    expect(await readFile(path.join(moved, 'tokens.json'), 'utf8')).toContain('accessToken')
  })

  it('prints the last token when only the control plane cannot be reached, and says that it may have expired', async () => {
    await using other = await newMachine(machine)
    const host = `localhost:${await closedPort()}`
    const held = (await other.svc(['token'])).stdout
    await other.age(service, 900)
    await other.moveProfile(service, `http://${host}`, service.config.baseUrl)
    expect(await other.svc(['token', '--url', host])).toEqual({
      status: 0,
      stdout: held,
      stderr: `Nothing listens at ${host}. Check the URL, or start the service. This is the last token, which may have expired.\n`,
    })
    expect((await other.svc(['token', '--new', '--url', host])).status).toBe(1)
  })

  it('waits for the control plane once when several agents ask while it cannot be reached', async () => {
    await using other = await newMachine(machine)
    let connections = 0
    const breaking = createServer((socket) => {
      connections++
      socket.destroy()
    })
    const url = `http://localhost:${await listenOnLoopback(breaking)}`
    const held = (await other.svc(['token'])).stdout
    await other.age(service, 900)
    await other.moveProfile(service, url, service.config.baseUrl)
    const ask = () => other.svc(['token', '--url', url])
    const asked = await Promise.all([ask(), ask(), ask()])
    expect(asked.map(({ status, stdout }) => [status, stdout])).toEqual(asked.map(() => [0, held]))
    // A refresh whose answer is lost is repeated once.
    expect(connections).toBe(2)
    expect((await ask()).stdout).toBe(held)
    expect(connections).toBe(2)
    breaking.close()
  })

  /** Has a control plane answer refreshes, one after the other, where the gateway of the team is elsewhere. */
  async function withRefreshes(
    answers: readonly { readonly status: number; readonly body: object }[],
    run: (token: () => Promise<Ran>, outage: string) => Promise<void>,
  ): Promise<void> {
    const left = [...answers]
    const server = createHttpServer((_, res) => {
      const { status = 500, body = {} } = left.shift() ?? {}
      res.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1', 'retry-after': '0' })
      res.end(JSON.stringify(body))
    })
    const url = `http://localhost:${await listenOnLoopback(server)}`
    await using other = await newMachine(machine)
    await other.age(service, 900)
    await other.moveProfile(service, url, service.config.baseUrl)
    const outage = path.join(other.home, '.config/svc/deployments', encodeURIComponent(url), 'outage')
    await run(() => other.svc(['token', '--url', url]), outage)
    await closeHttpServer(server)
  }

  const NEW_TOKENS = { status: 200, body: { account: 'ada@example.com', accessToken: 'new', refreshToken: 'next' } }

  it.each([429, 503])('asks once more when the control plane answers %i and says when to', async (status) => {
    await withRefreshes([{ status, body: {} }, NEW_TOKENS], async (token) => {
      expect(await token()).toEqual({ status: 0, stdout: 'new\n', stderr: '' })
    })
  })

  it('asks again at once when the control plane has answered with a failure', async () => {
    await withRefreshes([{ status: 500, body: {} }, NEW_TOKENS], async (token) => {
      expect((await token()).status).toBe(1)
      expect((await token()).stdout).toBe('new\n')
    })
  })

  // A time in the future is from before the clock was set back.
  it.each([-3600, 3600])('asks again when it has found no control plane %i s from now', async (seconds) => {
    await withRefreshes([NEW_TOKENS], async (token, outage) => {
      await writeFile(outage, 'It was away.')
      const then = new Date(Date.now() + seconds * 1000)
      await utimes(outage, then, then)
      expect((await token()).stdout).toBe('new\n')
    })
  })

  it('keeps the credentials when another service at the address rejects them', async () => {
    await using other = await newMachine(machine)
    const another = createHttpServer((_, res) => {
      res.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"code":"unauthorized"}}')
    })
    const url = `http://localhost:${await listenOnLoopback(another)}`
    const held = (await other.svc(['token'])).stdout
    await other.moveProfile(service, url, service.config.baseUrl)
    const ran = await other.svc(['token', '--new', '--url', url])
    another.close()
    expect(ran).toEqual({
      status: 1,
      stdout: '',
      stderr: `${url} answered 401, but not as svc: another service is at this address. Check the URL.\n`,
    })
    expect(await other.svc(['token', '--url', url])).toEqual({ status: 0, stdout: held, stderr: '' })
  })

  it('says which file is damaged', async () => {
    await using other = await newMachine(machine)
    await writeFile(other.tokensOf(service), '{"accessToken":')
    const ran = await other.svc(['token'])
    expect(ran.status).toBe(1)
    expect(ran.stderr).toBe(
      `${other.tokensOf(service)} does not contain tokens of this client. Remove the file and log in again.\n`,
    )
    await rm(other.tokensOf(service))
    expect((await other.svc(['token'])).status).toBe(3)
  })

  it.each([
    '',
    '[]',
    '{"gatewayUrl":"http://localhost"}',
    { gatewayUrl: 'localhost' },
    { team: {} },
    { account: null },
    { defaultModel: 1 },
  ])('says that the profile is damaged, and what to do: %j', async (damaged) => {
    await using other = await newMachine(machine)
    const file = path.join(path.dirname(other.tokensOf(service)), 'profile.json')
    const whole = JSON.parse(await readFile(file, 'utf8')) as object
    await writeFile(file, typeof damaged === 'string' ? damaged : JSON.stringify({ ...whole, ...damaged }))
    const message = `${file} is damaged. Sign in again: svc login ${service.config.baseUrl}\n`
    expect(await other.svc(['token'])).toEqual({ status: 1, stdout: '', stderr: message })
  })

  it('shows other deployments in svc status whose profiles are damaged', async () => {
    await using other = await newMachine(machine)
    const url = 'https://other.example.com'
    await other.moveProfile(service, url)
    const folder = path.join(other.home, '.config/svc/deployments')
    await writeFile(path.join(folder, encodeURIComponent(url), 'profile.json'), '{')
    await writeFile(path.join(folder, '.DS_Store'), '')
    const { status, stdout } = await other.svc(['status'])
    expect([status, stdout]).toEqual([0, expect.stringContaining(`${url} (svc status --url ${url})`)])
  })

  it('says that the file with the last login is damaged, unless a deployment is named', async () => {
    await using other = await newMachine(machine)
    const file = path.join(other.home, '.config/svc/current')
    await writeFile(file, 'ftp://svc.example.com')
    expect(await other.svc(['token'])).toEqual({
      status: 1,
      stdout: '',
      stderr: `${file} does not contain the URL of a deployment. Run: svc login URL\n`,
    })
    expect((await other.svc(['token', '--url', service.config.baseUrl])).status).toBe(0)
  })

  it.each(['current', 'profile.json', 'tokens.json'])('names a directory in place of %s', async (name) => {
    await using other = await newMachine(machine)
    const folder = name === 'current' ? path.join(other.home, '.config/svc') : path.dirname(other.tokensOf(service))
    const file = path.join(folder, name)
    await rm(file)
    await mkdir(file)
    const message = `${file} cannot be used: it is a directory.\n`
    expect(await other.svc(['token'])).toEqual({ status: 1, stdout: '', stderr: message })
    // A logout does not need the profile.
    const refused = { status: 1, stdout: '', stderr: message }
    expect(await other.svc(['logout'])).toMatchObject(name === 'profile.json' ? { status: 0 } : refused)
  })
})

describe('credentials that cannot be kept', () => {
  it('are explained in a sentence', async () => {
    await using other = await newMachine()
    const folder = path.join(other.home, '.config')
    await writeFile(folder, 'a file where a directory should be')
    const ran = await other.svc(['login', service.config.baseUrl, '--email', 'ada@example.com'])
    expect(ran).toEqual({
      status: 1,
      stdout: '',
      stderr: `${folder}/svc cannot be used: a part of its path is no directory.\n`,
    })
  })
})

describe('isFresh', () => {
  const now = new Date('2026-11-21T12:00:00Z')
  const encoded = (payload: object) => Buffer.from(JSON.stringify(payload)).toString('base64url')
  const token = (lifeSeconds: number, ageSeconds: number, issuedAt = 0) => ({
    account: 'ada@example.com',
    team: '@acme/core',
    deviceId: 'd',
    refreshToken: 'r',
    expiresAt: '',
    accessToken: `h.${encoded({ iat: issuedAt, exp: issuedAt + lifeSeconds })}.s`,
    savedAt: new Date(now.getTime() - ageSeconds * 1000).toISOString(),
  })

  it.each([
    ['another minute of fifteen', token(900, 840), true],
    ['less than a minute of fifteen', token(900, 841), false],
    ['half of a life of 20 seconds', token(20, 10), true],
    ['less than half of a life of 20 seconds', token(20, 11), false],
    ['issued by a clock that is years off', token(900, 0, 2_000_000_000), true],
    ['saved in the future, so the clock was set back', token(900, -5), false],
    ['no time of saving', { ...token(900, 0), savedAt: 'x' }, false],
    ['no JWT', { ...token(900, 0), accessToken: 'opaque' }, false],
  ])('%s', (_, tokens, expected) => {
    expect(isFresh(tokens, now)).toBe(expected)
  })
})
