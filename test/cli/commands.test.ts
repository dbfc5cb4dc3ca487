import { execFile } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { hostname } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { NewApiKey, SessionEvent } from '../../generated/sdk/index.js'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import { DAY_SECONDS } from '../../src/kernel/durations.ts'
import { newKeyMaterial } from '../../src/kernel/secret.ts'
import { accountIdOf, eventOf, saveEvents } from '../support/agent-sessions.ts'
import { endedCall } from '../support/call-events.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { START_ENV } from '../support/process.ts'
import { bearerOf } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { closedPort, newMachine } from './machine.ts'
import type { Machine } from './machine.ts'

let engine: TestEngine
let service: TestService
let machine: Machine
beforeAll(async () => {
  engine = await startEngine()
  service = await startAtOwnAddress({
    SVC_POLL_INTERVAL_SECONDS: '1',
    SVC_LOCAL_ENGINE_URL: engine.url.href,
    SVC_ADMIN_BACKEND_HOSTS: '*.vendor.example',
    SVC_SECRET_KEY: newKeyMaterial().reveal(),
  })
  machine = await newMachine()
  await machine.signIn(service)
})
afterAll(async () => {
  await machine[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

/** What a command prints as JSON. */
async function jsonOf<T>(args: readonly string[]): Promise<T> {
  const ran = await machine.svc([...args, '--json'])
  if (ran.status !== 0) throw new Error(`It failed: ${ran.stderr}`)
  return JSON.parse(ran.stdout) as T
}

describe('the exit status', () => {
  it.each([
    [['--version'], 0],
    [['version'], 0],
    [['--help'], 0],
    [['run', '--help'], 0],
    [['help', 'run'], 0],
    [[], 2],
    [['unknown'], 2],
    [['help', 'unknown'], 2],
    [['--unknown'], 2],
    [['token', 'too', 'many'], 2],
    [['run'], 2],
    [['run', 'vim'], 2],
    [['setup', 'codex', '--write', '--remove'], 2],
    [['setup', 'openai', '--write'], 2],
    [['setup', 'codex', '--write', '--days', '3'], 2],
    [['setup', 'opencode', '--days', '3'], 2],
    [['invite', 'a@example.com', '--role', 'owner'], 2],
    [['run', 'codex', '--model', 'no/such'], 2],
    [['chat', ' '], 2],
    [['usage', '--by', 'color'], 2],
    [['usage', '--csv', '--json'], 2],
    [['directory', 'apply', '-', '--json'], 2],
    [['usage', '--from', 'yesterday'], 2],
    [['usage', '--from', '2026-02-30'], 2],
    [['devices', 'revoke', 'ffffffff'], 1],
    [['keys', 'revoke', 'ffffffff'], 1],
    [['keys', 'create', 'x', '--days', 'many'], 2],
    [['uninvite', 'nobody@example.com'], 1],
    [['invite', 'nobody@example.com', '--resend'], 1],
    [['invite', 'a@example.com', '--resend', '--role', 'admin'], 2],
    [['members', '--team', '@acme/unknown'], 1],
    [['members', 'role', 'nobody@example.com', 'admin'], 1],
    [['members', 'remove', 'nobody@example.com'], 1],
    [['members', 'role', 'nobody@example.com', 'owner'], 2],
    [['audit', '--from', 'yesterday'], 2],
    [['audit', '--to', '2026-02-30'], 2],
    [['audit', '--to', '2026-02-30T10:00'], 2],
    [['audit', '--action', 'A B'], 2],
    [['members', '--team', 'acme'], 2],
    [['keys', 'create', 'x', '--days', '0'], 2],
    [['keys', 'create', 'x', '--days', '367'], 2],
    [['audit', '--count', '0'], 2],
    [['keys', 'create', 'x', '--print', '--json'], 2],
    [['keys', 'rotate', 'x', '--print', '--json'], 2],
    [['service-accounts', 'create', 'A B'], 2],
    [['models', 'add', 'writer'], 2],
    [['models', 'add', 'writer', '--serve', 'local-engine'], 2],
    [['models', 'remove', 'unknown'], 1],
    [['backends', 'add', 'vendor'], 2],
    [['backends', 'add', 'vendor', 'https://api.vendor.example', '--as', 'bearer'], 2],
    [['backends', 'remove', 'unknown'], 1],
    [['directory', 'plan', '/no/such/file'], 2],
    [['directory', 'apply', '-'], 2],
    [['audit', '--by', 'nobody'], 2],
  ])('of svc %j is %i', async (args, status) => {
    expect((await machine.svc(args)).status).toBe(status)
  })

  it.each([
    [['unknown'], "Unknown command 'unknown'.\nRun: svc --help\n"],
    [
      ['models', 'add', 'x', '--serv', 'a=b'],
      "Unknown option '--serv'.\n(Did you mean --serve?)\nRun: svc models add --help\n",
    ],
    [['logni'], "Unknown command 'logni'.\n(Did you mean login?)\nRun: svc --help\n"],
    [
      ['keys', 'crate', 'ci'],
      "'keys' has no command 'crate'. Its commands: create, rotate, revoke.\nRun: svc keys --help\n",
    ],
    [['status', 'now'], "'status' does not take 'now'.\nRun: svc status --help\n"],
    [['run', 'claude', '-p', 'hi'], "Unknown option '-p'. To pass it on, write it after --.\nRun: svc run --help\n"],
    [
      ['run', 'claude', '--modl', 'svc/fast'],
      "Unknown option '--modl'. To pass it on, write it after --.\n(Did you mean --model?)\nRun: svc run --help\n",
    ],
    [['keys', 'create'], "Missing required argument 'name'.\nRun: svc keys create --help\n"],
    [
      ['keys', 'create', 'a', 'b'],
      "Too many arguments for 'create'. Expected 1 argument but got 2: a, b.\nRun: svc keys create --help\n",
    ],
  ])('of svc %j, wrong usage, comes with sentences about the mistake and where to read on', async (args, printed) => {
    expect((await machine.svc(args)).stderr).toBe(printed)
  })

  it.each(['status', 'token', 'models', 'devices', 'sessions', 'members', 'audit', 'usage', 'logout'])(
    'of svc %s is 3 when not signed in',
    async (command) => {
      await using fresh = await newMachine()
      const ran = await fresh.svc([command])
      expect([ran.status, ran.stdout, ran.stderr]).toEqual([3, '', 'You are not signed in. Run: svc login URL\n'])
    },
  )
})

describe('the help', () => {
  it('of a subcommand has its arguments and the options of the commands above it', async () => {
    const asked = await machine.svc(['help', 'keys', 'create'])
    expect(asked).toEqual(await machine.svc(['keys', 'create', '--help']))
    expect(asked.stdout).toMatch(/^Usage: svc keys create \[options\] <name>\n/)
    expect(asked.stdout).toContain('--service <name>')
  })

  it('lists all commands also when a command is named behind --help', async () => {
    expect(await machine.svc(['--help', 'keys'])).toEqual(await machine.svc(['--help']))
  })

  it.each([
    [['token', '--help'], true],
    [['serve', '--help'], false],
    [['prices', 'update', '--help'], false],
  ])('of svc %j names the option of the deployment: %s', async (args, has) => {
    const { stdout } = await promisify(execFile)(process.execPath, ['src/start.js', ...args], { env: START_ENV })
    expect(stdout.includes('--url')).toBe(has)
  })
})

describe('the process of a command', () => {
  it.each([
    [['--version'], 0],
    [['members', '--team', '@acme/unknown'], 1],
    [['unknown'], 2],
  ])('of svc %j ends with %i', async (args, status) => {
    expect((await machine.start(args)).status).toBe(status)
  })

  it('of svc models ends with 3 when not signed in', async () => {
    await using fresh = await newMachine()
    expect((await fresh.start(['models'])).status).toBe(3)
  })

  it('of svc chat reads standard input, and writes plain text into a pipe', async () => {
    expect(await machine.start(['chat', '--model', 'svc/fast'], { input: 'hello' })).toEqual({
      status: 0,
      stdout: 'Hello!\n',
      stderr: '',
    })
    expect(JSON.parse(engine.lastChat().body.toString())).toMatchObject({ messages: [{ content: 'hello' }] })
  })
})

describe('a connection that breaks within an answer', () => {
  /** Runs a command where only the gateway can be reached, whose answers have this type and begin like this. */
  async function runAgainst(command: string, type: string, begin: string) {
    const server = createServer((_, res) => {
      res.writeHead(200, { 'content-type': type, 'x-request-id': 'req_1' })
      res.write(begin, () => res.destroy())
    })
    const gatewayUrl = `http://localhost:${await listenOnLoopback(server)}`
    const url = `http://localhost:${await closedPort()}`
    await using other = await newMachine(machine)
    await other.moveProfile(service, url, gatewayUrl)
    const ran = await other.svc([command, '--url', url], { input: 'hello' })
    server.close()
    return ran
  }

  it.each([
    [
      'models',
      'application/json',
      '{ "data": [',
      'before the whole answer had arrived. Try again; if it stays like this, tell your operator.',
    ],
    ['chat', 'text/event-stream', 'data: {"choices":[{"delta":{}}]}\n\n', 'The stream was cut off before its end.'],
  ])('is explained in a sentence: svc %s', async (command, type, begin, message) => {
    const ran = await runAgainst(command, type, begin)
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([1, '', expect.stringContaining(message)])
    expect(ran.stderr.trim().split('\n')).toHaveLength(1)
  })

  it('is explained on a line of its own behind the part of an answer that svc chat has printed', async () => {
    const begin = 'data: {"choices":[{"delta":{"content":"The half of"}}]}\n\n'
    const ran = await runAgainst('chat', 'text/event-stream', begin)
    expect([ran.status, ran.stdout]).toEqual([1, 'The half of\n'])
  })
})

describe('another service at the address of a deployment', () => {
  it.each([
    'status',
    'models',
    'usage',
    'members',
    'invite nobody@example.com',
    'chat',
    'run codex',
    'logout',
    'doctor',
  ])('is named in a sentence: svc %s', async (command) => {
    const server = createServer((_, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end('{"hello":"world"}')
    })
    const url = `http://localhost:${await listenOnLoopback(server)}`
    await using other = await newMachine(machine)
    await other.moveProfile(service, url)
    const ran = await other.svc([...command.split(' '), '--url', url], { input: 'hello' })
    server.close()
    const printed = ran.stdout + ran.stderr
    expect(printed).toContain(`${url} answered 200, but not as svc: another service is at this address.`)
    expect(printed).not.toMatch(/^ {4}at /m)
    expect(ran.status).toBe(1)
  })
})

describe('svc models', () => {
  it('lists what the team may use, and marks the default', async () => {
    const { stdout } = await machine.svc(['models'])
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      'MODEL           NAME    OWNER    ALIASES',
      'svc/fast        Fast    svc      claude-*  default',
    ])
    expect(await jsonOf<object[]>(['models'])).toContainEqual({
      id: 'svc/fast',
      name: 'Fast',
      owner: 'svc',
      isDefault: true,
      aliases: ['claude-*'],
      aliasOf: null,
    })
  })

  it('lists them also where the control plane cannot be reached, and the gateway of the team can be', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url, service.config.baseUrl)
    const { stdout } = await machine.svc(['models'])
    expect(await other.svc(['models', '--url', url])).toEqual({ status: 0, stdout, stderr: '' })
  })

  it('lists them then also on a full disk', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url, service.config.baseUrl)
    const env = { NODE_OPTIONS: `--import=${await other.watchWrites(FULL_DISK)}` }
    const ran = await other.start(['models', '--url', url], { env })
    expect([ran.status, ran.stderr]).toEqual([0, ''])
  })

  it('renews an expired token on the way', async () => {
    service.clock.advance({ seconds: 901 })
    expect((await machine.svc(['models'])).status).toBe(0)
  })
})

describe('svc chat', () => {
  it.each([
    [['hello', 'there'], undefined],
    [['hello there'], undefined],
    [['--model', 'svc/fast', 'hello', 'there'], undefined],
    [['hello', 'there', '--model', 'svc/fast'], undefined],
    [[], 'hello there'],
    [['--model', 'svc/fast'], 'hello there'],
    [['hello there'], 'not read'],
  ])('asks with %j and %j on standard input', async (args, input) => {
    const ran = await machine.svc(['chat', ...args], input === undefined ? {} : { input })
    expect([ran.status, ran.stdout]).toEqual([0, 'Hello!\n'])
    expect(JSON.parse(engine.lastChat().body.toString())).toMatchObject({ messages: [{ content: 'hello there' }] })
  })

  it.each([
    [[''], undefined],
    [[], ' '],
  ])('says that the text is missing with %j and %j on standard input', async (args, input) => {
    const ran = await machine.svc(['chat', ...args], input === undefined ? {} : { input })
    expect([ran.status, ran.stderr]).toEqual([
      2,
      'Say what to ask: svc chat TEXT, or give the text on standard input.\n',
    ])
  })

  it('prints the message of the service when a call is refused', async () => {
    const ran = await machine.svc(['chat', '--model', 'no/such', 'hello'])
    expect([ran.status, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toMatch(/no\/such|model/)
  })
})

describe('a gateway that has moved', () => {
  it.each([
    ['chat hello', 'Hello'],
    ['models', 'svc/fast'],
    ['limits', 'No spending limits.'],
    ['status', 'reachable, 4 models'],
    ['doctor', 'answers; models that your team may use: 4.'],
  ])('is asked by svc %s at its new address', async (command, printed) => {
    await using other = await newMachine(machine)
    await other.moveGateway(service, `http://localhost:${await closedPort()}`)
    const ran = await other.svc(command.split(' '))
    expect([ran.status, ran.stdout]).toEqual([0, expect.stringContaining(printed)])
  })
})

describe('svc usage', () => {
  it('adds up own calls, or those of the whole team for its admins', async () => {
    const { prisma } = service.database
    const { id: ada } = await prisma.account.findUniqueOrThrow({ where: { email: 'ada@example.com' } })
    const calls = [
      endedCall({ accountId: ada, usage: { inputTokens: 12_000 }, result: { costNanoUsd: 12_500_000 } }),
      endedCall({ usage: { inputTokens: 1, outputTokens: 2 } }),
    ]
    await makeCallEventStore(service.database).save({ id: 'batch_1', events: calls })
    const period = ['--from', '2026-11-21', '--to', '2026-11-21']
    const own = await machine.svc(['usage', ...period, '--by', 'model'])
    expect(own.stdout.split('\n')).toEqual([
      'MODEL          CALLS  INPUT   CACHE READ  CACHE WRITE  OUTPUT  COST',
      'vendora/large  1      12,000  0           0            0       $0.01',
      'total          1      12,000  0           0            0       $0.01',
      '',
    ])
    const team = await machine.svc(['usage', ...period, '--by', 'member', '--team'])
    expect(team.stdout).toMatch(/^ada@example\.com +1 .*\$0\.01$/m)
    expect(team.stdout).toMatch(/ 1 +1 +0 +0 +2 +no price$/m)
    expect(team.stdout).toMatch(/^total +2 +12,001 /m)
    expect(team.stderr).toContain('Calls without a price, not in the cost: 1')
    expect(await jsonOf<object>(['usage', ...period])).toMatchObject({ by: 'day', total: { calls: 1 } })
    expect((await machine.svc(['usage', '--from', '2026-11-01', '--to', '2026-11-01'])).stdout).toBe('No calls.\n')
    expect((await machine.svc(['usage', ...period, '--csv'])).stdout).toMatch(/^day,name,calls,.*\r\n2026-11-21,,1,/)
    const csv = await machine.svc(['usage', ...period, '--csv', '--team'])
    expect(csv.stdout).toMatch(/^day,name,calls,.*\r\n2026-11-21,,2,/)
  })
})

describe('svc limits', () => {
  const list = (...args: string[]) => jsonOf<{ id: string; amountNanoUsd: number }[]>(['limits', ...args])

  it('sets a limit, changes it when it is set again, and removes it by the start of its ID', async () => {
    const set = await machine.svc(['limits', 'set', '50', '--per', 'month'])
    expect([set.status, set.stdout]).toEqual([0, 'Now @acme/core may spend $50.00 a month.\n'])
    const changed = await machine.svc(['limits', 'set', '2.50', '--per', 'month'])
    expect(changed.stdout).toBe('Now @acme/core may spend $2.50 a month.\n')
    const [limit, ...others] = await list('--team')
    expect([limit?.amountNanoUsd, others]).toEqual([2_500_000_000, []])

    const removed = await machine.svc(['limits', 'remove', limit?.id.slice(0, 8) ?? ''])
    expect([removed.status, removed.stdout]).toEqual([0, 'Removed: the limit of $2.50 a month for @acme/core.\n'])
    expect((await machine.svc(['limits', '--team'])).stdout).toBe('No spending limits.\n')
  })

  it.each([
    ['--members', 'Now each member may spend $1.00 a day.\n'],
    ['--member=ADA@example.com', 'Now ada@example.com may spend $1.00 a day.\n'],
  ])('sets one with %s, which the person sees as an own limit', async (whose, printed) => {
    expect((await machine.svc(['limits', 'set', '1', '--per', 'day', whose])).stdout).toBe(printed)
    const { stdout } = await machine.svc(['limits'])
    expect(stdout).toMatch(/^ID +FOR +PER +LIMIT +SPENT +LEFT +RESETS\n.* day +\$1\.00 +\$0\.00 +\$1\.00 /)
    const [limit] = await list('--team')
    expect((await machine.svc(['limits', 'remove', limit?.id ?? '', '--json'])).stdout).toBe('{\n  "ok": true\n}\n')
    expect(await list()).toEqual([])
  })

  it('takes the ID of a key and not its name, which another key can have too', async () => {
    // Keys need a sign-in of the last 15 minutes.
    await machine.signIn(service)
    const { info } = await jsonOf<NewApiKey>(['keys', 'create', 'limited'])
    const set = (key: string, amount: string) => machine.svc(['limits', 'set', amount, '--per', 'day', '--key', key])
    expect((await set(info.id, '1')).stdout).toBe('Now limited may spend $1.00 a day.\n')
    expect((await set(info.id, '2')).stdout).toBe('Now limited may spend $2.00 a day.\n')
    expect((await set('limited', '3')).stderr).toContain('no API key with the ID limited')
    expect((await machine.svc(['keys', 'revoke', info.id])).status).toBe(0)
  })

  it.each([
    [['limits', 'set', '0', '--per', 'day'], 2, "'0' is not a valid amount. Give an amount in USD above 0"],
    [['limits', 'set', 'much', '--per', 'day'], 2, 'Give an amount in USD above 0'],
    [['limits', 'set', '1'], 2, "Required option '--per <period>' not specified.\nRun: svc limits set --help"],
    [['limits', 'set', '1', '--per', 'year'], 2, 'Allowed choices are day, week, month'],
    [['limits', 'set', '1', '--per', 'day', '--members', '--service', 'ci'], 2, 'cannot be used with'],
    [
      ['limits', 'set', '1', '--per', 'day', '--member', 'nobody@example.com'],
      1,
      '@acme/core has no member nobody@example.com. Run: svc members',
    ],
    [['limits', 'set', '1', '--per', 'day', '--service', 'unknown'], 1, 'no service account named unknown. Run: svc'],
    [['limits', 'set', '1', '--per', 'day', '--key', 'x'], 1, 'no API key with the ID x. Give the whole ID'],
    [['limits', 'remove', 'ffffffff'], 1, '@acme/core has no limit with the ID "ffffffff". Run: svc limits --team'],
    [['limits', '--team', '@acme/unknown'], 1, 'team'],
  ])('tells for %j what is wrong, with exit status %i', async (args, status, message) => {
    const ran = await machine.svc(args)
    expect([ran.status, ran.stdout]).toEqual([status, ''])
    expect(ran.stderr).toContain(message)
  })
})

describe('svc sessions', () => {
  it('lists the sessions of agents in the team', async () => {
    const run = { team: '@acme/core', accountId: await accountIdOf(service, 'ada@example.com'), sessionId: 'run-7' }
    await saveEvents(service, eventOf('started', run), eventOf('failed', run))
    await service.database.prisma.agentSession.updateMany({ data: { inputTokens: 1_234_567n } })
    const row = /run-7 +ada@example\.com +svc\/fast +1 +1 +1,234,567 +20/
    expect((await machine.svc(['sessions'])).stdout).toMatch(row)
    expect(await jsonOf<object[]>(['sessions', '--account', 'ada@example.com'])).toMatchObject([{ id: 'run-7' }])
    expect((await machine.svc(['sessions', '--account', 'kay@example.com'])).stdout).toBe(
      'The team @acme/core has no sessions of kay@example.com yet.\n',
    )
  })

  it('prints the calls of the one whose ID starts so, and goes on until it is stopped', async () => {
    const stop = (printed: string, child: ChildProcess) => void (printed.includes('failed') && child.kill('SIGINT'))
    const watched = await machine.start(['sessions', 'watch', 'run-'], { onPrint: stop })
    expect(watched).toEqual({
      status: null,
      stdout: expect.stringMatching(
        /^\S+:30 {2}started .*\n\S+:30 {2}failed {4}svc\/fast {2}local-engine {2}0\.3 s {2}100 in \(40 cached\), 20 out {2}\$0\.0012\n$/,
      ),
      stderr: 'Following session run-7 of @acme/core. Press Ctrl-C to stop.\n',
    })
    const { stdout, stderr } = await machine.start(['sessions', 'watch', 'run-', '--json'], { onPrint: stop })
    const types = stdout.split(/\n(?=.)/).map((line) => (JSON.parse(line) as SessionEvent).type)
    expect([types, stderr]).toEqual([['call.started', 'call.failed'], ''])
  })
})

describe('svc devices', () => {
  it('signs another device out by the start of its ID, and lists it no longer', async () => {
    await service.signIn('ada@example.com', { deviceId: 'old', deviceName: 'Old laptop' })
    const find = async () =>
      (await jsonOf<{ id: string; deviceName: string }[]>(['devices'])).find(
        ({ deviceName }) => deviceName === 'Old laptop',
      )
    const { id = '' } = (await find()) ?? {}
    const ran = await machine.svc(['devices', 'revoke', id])
    expect([ran.status, ran.stdout]).toEqual([0, `Signed out: Old laptop (${id}).\n`])
    expect(await find()).toBeUndefined()
  })

  it('prints no control characters of the name of a device', async () => {
    await service.signIn('ada@example.com', { deviceId: 'evil', deviceName: 'a\u001b[2Jb' })
    expect((await machine.svc(['devices'])).stdout).not.toContain('\u001b')
    const devices = await jsonOf<{ id: string; deviceName: string }[]>(['devices'])
    const { id = '' } = devices.find(({ deviceName }) => deviceName.endsWith('[2Jb')) ?? {}
    expect(await jsonOf(['devices', 'revoke', id])).toEqual({ ok: true })
  })
})

describe('svc keys', () => {
  it('creates a key that calls models, lists it, rotates and revokes it', async () => {
    // Keys need a sign-in of the last 15 minutes.
    await machine.signIn(service)
    const created = await machine.svc(['keys', 'create', 'opencode', '--model', 'svc/fast', '--print'])
    const key = created.stdout.trim()
    expect([key, created.stderr]).toEqual([expect.stringMatching(/^svck_[\w-]{49}$/), ''])
    const models = await service.fetch('/v1/models', { headers: bearerOf(key) })
    expect(models.status).toBe(200)

    const [listed] = await jsonOf<{ id: string; name: string; models: string[] }[]>(['keys'])
    expect(listed).toMatchObject({ name: 'opencode', models: ['svc/fast'] })
    expect(await jsonOf<object[]>(['keys', '--team', '@acme/core'])).toContainEqual(listed)
    expect((await machine.svc(['keys', '--team', '@acme/other'])).stdout).toBe(
      'You have no API keys for @acme/other. Create one: svc keys create NAME --team @acme/other\n',
    )
    const rotated = await machine.svc(['keys', 'rotate', listed?.id ?? '', '--overlap', '0', '--days', '1'])
    expect(rotated.stdout).toMatch(/^svck_/)
    expect(rotated.stderr).toContain('It is not shown again.')
    const [next] = await jsonOf<{ id: string }[]>(['keys'])
    expect((await machine.svc(['keys', 'revoke', next?.id ?? ''])).stdout).toContain('Revoked: opencode')
    expect((await machine.svc(['keys'])).stdout).toContain('You have no API keys.')
  })
})

describe('a table', () => {
  it('has straight columns where characters take two columns of the terminal', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    await other.svc(['keys', 'create', '日本語'])
    const [head = '', row = ''] = (await other.svc(['keys'])).stdout.split('\n')
    expect(row.indexOf('svck_') + '日本語'.length).toBe(head.indexOf('KEY '))
    await other.svc(['keys', 'revoke', row.slice(0, row.indexOf(' '))])
  })
})

describe('svc service-accounts, and svc keys --service', () => {
  it('create, list and remove an account of the team, with its keys', async () => {
    await machine.signIn(service)
    expect((await machine.svc(['service-accounts'])).stdout).toContain('@acme/core has no service accounts.')
    const made = await machine.svc(['service-accounts', 'create', 'build-server'])
    expect(made.stdout).toContain('svc keys create KEY --service build-server')

    const created = await machine.svc(['keys', 'create', 'nightly', '--service', 'build-server', '--print'])
    expect([created.stdout, created.stderr]).toEqual([expect.stringMatching(/^svck_[\w-]{49}\n$/), ''])
    expect(await jsonOf(['keys', '--service', 'build-server'])).toMatchObject([{ name: 'nightly' }])
    expect(await jsonOf(['keys'])).toEqual([])
    expect(await jsonOf(['service-accounts'])).toMatchObject([{ name: 'build-server', activeKeys: 1 }])
    expect((await machine.svc(['service-accounts'])).stdout).toMatch(/^build-server +1 +never .* ada@example\.com$/m)
    const [listed] = await jsonOf<{ id: string }[]>(['keys', '--service', 'build-server'])
    const id = listed?.id ?? ''
    expect((await machine.svc(['keys', 'rotate', id, '--service', 'build-server', '--print'])).stdout).toMatch(/^svck_/)
    expect((await machine.svc(['keys', 'revoke', id, '--service', 'build-server'])).stdout).toContain(
      'Revoked: nightly',
    )

    const removed = await machine.svc(['service-accounts', 'remove', 'build-server'])
    expect(removed.stdout).toBe('build-server is removed from @acme/core. API keys that were revoked: 1.\n')
    const gone = await machine.svc(['keys', '--service', 'build-server'])
    expect([gone.status, gone.stderr]).toEqual([1, expect.stringContaining('no service account named build-server')])
  })
})

describe('svc invite, members, audit and uninvite', () => {
  it('let a person sign in, list them, and sign them out', async () => {
    expect((await machine.svc(['invite', 'grace@example.com'])).stdout).toContain(
      'grace@example.com may sign in to @acme/core as member. An email tells them how.',
    )
    const again = await machine.svc(['invite', 'grace@example.com', '--team', '@acme/core'])
    expect([again.status, again.stderr]).toEqual([
      1,
      expect.stringContaining('run: svc invite grace@example.com --resend --team @acme/core\n'),
    ])
    expect((await machine.svc(['invite', 'Grace@example.com', '--resend'])).stdout).toBe(
      'An email tells grace@example.com again how to sign in to @acme/core.\n',
    )
    await service.mailbox.waitFor('grace@example.com', 'You are invited', 2)
    expect(await jsonOf<object[]>(['members'])).toContainEqual(
      expect.objectContaining({ email: 'grace@example.com', source: 'admin' }),
    )
    expect((await machine.svc(['members'])).stdout).toMatch(/^grace@example.com .* not yet$/m)
    await using hers = await newMachine()
    await hers.signIn(service, 'grace@example.com')
    expect((await hers.svc(['members'])).status).toBe(1)
    expect((await machine.svc(['members', 'role', 'Grace@example.com', 'admin'])).stdout).toBe(
      'grace@example.com is admin of @acme/core now.\n',
    )
    expect((await hers.svc(['members'])).stdout).toMatch(/^grace@example.com +admin .* admin +1 /m)
    const changes = await jsonOf<object[]>([
      'audit',
      '--action',
      'invitation',
      '--by',
      'ada@example.com',
      '--count',
      '1',
    ])
    expect(changes).toMatchObject([{ action: 'invitation.changed', subject: 'grace@example.com' }])
    expect((await machine.svc(['audit', '--count', '1'])).stdout).toMatch(
      /invitation\.changed +ada@example\.com +grace@example\.com +127\.0\.0\.1 +role admin, previous role member$/m,
    )
    expect((await machine.svc(['uninvite', 'Grace@example.com'])).stdout).toBe(
      'grace@example.com is no longer invited to @acme/core. Their devices and API keys of the team have ended.\n',
    )
    expect((await hers.svc(['models'])).status).toBe(3)
    await machine.svc(['invite', 'grace@example.com'])
    expect((await machine.svc(['members', 'remove', 'Grace@example.com'])).stdout).toBe(
      'grace@example.com is no longer a member of @acme/core. Their devices and API keys of the team have ended.\n',
    )
    const times = ['--from', '2026-11-01', '--to', '2026-11-02T10:00:00Z']
    expect((await machine.svc(['audit', ...times])).stdout).toBe('No changes were found.\n')
  })
})

describe('svc models add, default and remove, and svc directory', () => {
  // The file sets no default model, so that an admin may.
  const withoutDefault = `
organizations: [{ name: acme, teams: [{ name: core, models: [svc/fast], members: [{ email: ada@example.com, role: admin }] }] }]
models: [{ id: svc/fast, displayName: Fast, owner: svc, backendModel: 'qwen3:8b' }]
`
  beforeAll(() => service.applyDirectory(withoutDefault))

  it.each([
    ['svc models', []],
    ['svc models --url URL', ['--url', 'URL']],
  ])('says how to name a model where svc chat has no default one: %s', async (list, option) => {
    const withUrl = (text: string) => text.replace('URL', service.config.baseUrl)
    expect(await machine.svc(['chat', 'hello', ...option.map(withUrl)])).toEqual({
      status: 2,
      stdout: '',
      stderr: `@acme/core has no default model. Name one with --model. To list them, run: ${withUrl(list)}\n`,
    })
  })

  it('has svc setup take the first model where there is no default one', async () => {
    expect((await machine.svc(['setup', 'codex'])).stdout).toMatch(/^model = "svc\/fast"$/m)
  })

  it('adds a model, makes it the default one, and removes it', async () => {
    const serve = ['--serve', 'local-engine=qwen3:8b', '--alias', 'draft', '--name', 'Our writer']
    const added = await machine.svc(['models', 'add', 'writer', ...serve])
    expect(added.stdout).toBe(
      'acme/core/writer can be called by the members of @acme/core, in a few seconds at the latest.\n',
    )
    const chosen = await machine.svc(['models', 'default', 'acme/core/writer'])
    expect(chosen.stdout).toBe('acme/core/writer is the default model of @acme/core, in a few seconds at the latest.\n')
    const refused = await machine.svc(['models', 'remove', 'writer'])
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('default model')])
    expect(await machine.svc(['models', 'default', 'none'])).toMatchObject({ status: 0 })
    expect((await machine.svc(['models', 'remove', 'writer'])).stdout).toBe(
      'acme/core/writer is removed from @acme/core.\n',
    )
  })

  it.each(['acme/core/gone', 'gone'])(
    'names the command that lists the backends when there is none named %s',
    async (name) => {
      const { status, stderr } = await machine.svc(['models', 'add', 'writer', '--serve', `${name}=large`])
      expect([status, stderr]).toEqual([1, expect.stringMatching(/gone.* svc backends /)])
    },
  )

  it('adds a backend with a credential from standard input, lists it without the credential, and removes it', async () => {
    await machine.signIn(service)
    expect((await machine.svc(['backends'])).stdout).toBe(
      'Neither the directory file nor an admin has added a backend for @acme/core.\n',
    )
    const add = [
      'backends',
      'add',
      'vendor',
      'https://api.vendor.example',
      '--credential-file',
      '-',
      '--as',
      'x-api-key',
    ]
    const added = await machine.svc(add, { input: 'sk-1\n' })
    expect([added.status, added.stdout]).toEqual([
      0,
      expect.stringContaining('acme/core/vendor can serve models of @acme/core'),
    ])
    const short = await machine.svc(['models', 'add', 'writer', '--serve', 'vendor=large'])
    expect([short.status, short.stderr]).toEqual([
      1,
      expect.stringContaining('The backend that an admin has added is named acme/core/vendor.'),
    ])
    const { stdout, stderr } = await machine.svc(['backends'])
    expect(stdout).toMatch(/acme\/core\/vendor +chat +https:\/\/api\.vendor\.example +\/v1 +set, sent as x-api-key/)
    expect(stdout).not.toContain('sk-1')
    expect(stderr).toBe('Admins may add backends at: *.vendor.example\n')
    const other = ['https://eu.vendor.example', '--base-path', '/v1beta', '--without-credential']
    await machine.svc(['backends', 'add', 'other', ...other])
    expect((await machine.svc(['backends'])).stdout).toMatch(/acme\/core\/other +chat +https:\S+ +\/v1beta +none$/m)
    const serve = ['--serve', 'local-engine=qwen3:8b', '--offline', 'acme/core/other=big', '--context-window', '1000']
    expect(await jsonOf(['models', 'add', 'writer', ...serve])).toMatchObject({
      serve: [
        { backend: 'local-engine', model: 'qwen3:8b' },
        { backend: 'acme/core/other', model: 'big', when: 'offline' },
      ],
      contextWindow: 1000,
    })
    await machine.svc(['models', 'remove', 'writer'])
    expect((await machine.svc(['backends', 'remove', 'vendor'])).stdout).toContain('acme/core/vendor is removed')
    const refused = await machine.svc(['backends', 'add', 'vendor', 'https://evil.example', '--without-credential'])
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringContaining('the operator allows these hosts only'),
    ])
  })

  const directory = `
organizations:
  - name: acme
    teams:
      - name: core
        defaultModel: svc/fast
        members: [{ email: lin@example.com }, { email: ada@example.com }]
models:
  - { id: acme/core/writer, displayName: Writer, serve: [{ backend: local-engine, model: 'qwen3:8b' }] }
`
  const LINES = [
    '@acme/core',
    '  + member lin@example.com (member)',
    '  + model acme/core/writer',
    '  + default model none -> svc/fast',
    '  = member ada@example.com stays admin: the directory file of the operator says so',
  ]

  it('plans without changing anything, and applies with --yes', async () => {
    const planned = await machine.svc(['directory', 'plan', '-'], { input: directory })
    expect(planned.stderr).toBe('')
    expect(planned.stdout.trim().split('\n').sort()).toEqual(
      [...LINES, '3 changes to apply. Run: svc directory apply - --yes, with the same text on standard input'].sort(),
    )
    const asked = await machine.svc(['directory', 'apply', '-'], { input: directory })
    expect([asked.status, asked.stderr]).toEqual([2, expect.stringContaining('Add --yes')])
    expect((await jsonOf<object[]>(['members'])).length).toBe(1)

    const applied = await machine.svc(['directory', 'apply', '-', '--yes'], { input: directory })
    expect([applied.status, applied.stdout.split('\n').at(-2)]).toEqual([0, '3 changes applied.'])
    expect(await jsonOf(['members'])).toMatchObject([{ email: 'ada@example.com' }, { email: 'lin@example.com' }])
    const again = await machine.svc(['directory', 'apply', '-', '--yes', '--json'], { input: directory })
    expect(JSON.parse(again.stdout)).toMatchObject({ changes: [], readOnly: [{ name: 'ada@example.com' }] })
    expect((await machine.svc(['directory', 'plan', '-'], { input: directory })).stdout).toMatch(
      /^Nothing to change\.$/m,
    )
  })

  it('names the mistakes of a file', async () => {
    const ran = await machine.svc(['directory', 'plan', '-'], { input: 'organizations: [{ name: acme }]' })
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringMatching(/line 1, organizations\[0\]\.teams/)])
  })
})

describe('svc status', () => {
  it('says who is signed in where, and what can be reached', async () => {
    const { stdout, status } = await machine.svc(['status'])
    expect(status).toBe(0)
    expect(stdout).toContain('account       ada@example.com\n')
    expect(stdout).toContain('control plane reachable, signed in as admin\n')
    expect(stdout).toMatch(/gateway +\S+: reachable, 4 models\n/)
    expect(stdout).toContain('local-engine ready')
  })

  it('prints the same facts as JSON', async () => {
    expect(await jsonOf(['status'])).toMatchObject({
      url: service.config.baseUrl,
      account: 'ada@example.com',
      team: '@acme/core',
      gateway: { ok: true },
    })
  })

  it('says once what cannot be reached, and ends with 1', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url, service.config.baseUrl)
    const ran = await other.svc(['status', '--url', url])
    expect(ran).toEqual({
      status: 1,
      stdout: expect.stringMatching(/^control plane not usable\. Nothing/m),
      stderr: '',
    })
    expect(ran.stdout).toMatch(/gateway +\S+: reachable, 4 models\n/)
  })

  it('passes over the file that macOS puts into a folder', async () => {
    await using other = await newMachine(machine)
    await writeFile(path.join(other.home, '.config/svc/deployments/.DS_Store'), '')
    const ran = await other.svc(['status'])
    expect([ran.status, ran.stderr]).toEqual([0, ''])
  })
})

describe('svc doctor', () => {
  it('finds no problem on a machine that is signed in', async () => {
    const ran = await machine.svc(['doctor'])
    expect([ran.status, ran.stderr]).toEqual([0, ''])
    expect(await jsonOf<object[]>(['doctor'])).toContainEqual(
      expect.objectContaining({ state: 'ok', about: 'sign-in' }),
    )
    // The example directory has models of upstreams, which this service does not have.
    expect(ran.stdout).not.toMatch(/^(warning +(?!models )|problem)/m)
  })

  it('says how to sign in', async () => {
    await using fresh = await newMachine()
    const ran = await fresh.svc(['doctor'])
    expect(ran.status).toBe(1)
    expect(ran.stdout).toMatch(/^problem +sign-in +You are not signed in\. Run: svc login URL$/m)
  })

  it('finds a damaged record of svc setup, and goes on', async () => {
    await using other = await newMachine(machine)
    await other.install('codex', '')
    const record = path.join(other.home, '.config/svc/setup/codex.json')
    await mkdir(path.dirname(record))
    await writeFile(record, '{"file":')
    const { status, stdout } = await other.svc(['doctor'])
    expect(status).toBe(1)
    expect(stdout).toContain(`${record} is damaged. It records what svc setup has written`)
    expect(stdout).toMatch(/^ok +opencode/m)
  })

  it('finds credentials that others can read', async () => {
    await using other = await newMachine(machine)
    const folder = path.join(other.home, '.config/svc')
    await chmod(folder, 0o755)
    expect((await other.svc(['doctor'])).stdout).toMatch(/^problem +credentials +.*chmod 700/m)
  })

  it('names a folder with spaces so that a shell can change it', async () => {
    await using other = await newMachine(machine)
    const home = path.join(other.home, 'config of mine')
    await rename(path.join(other.home, '.config'), home)
    await chmod(path.join(home, 'svc'), 0o755)
    const { stdout } = await other.svc(['doctor'], { env: { XDG_CONFIG_HOME: home } })
    expect(stdout).toContain(`Run: chmod 700 '${path.join(home, 'svc')}'`)
  })

  it('finds that the folder of the credentials cannot be created', async () => {
    await using fresh = await newMachine()
    const file = path.join(fresh.home, '.config')
    await writeFile(file, '')
    const { stdout } = await fresh.svc(['doctor'])
    expect(stdout).toContain(`They cannot be kept in ${path.join(file, 'svc')}: a part of its path is no directory.`)
  })

  it.skipIf(process.getuid?.() === 0)('finds that only root can write the folder of the credentials', async () => {
    await using fresh = await newMachine()
    await chmod(fresh.home, 0o500)
    const { stdout } = await fresh.svc(['doctor'])
    await chmod(fresh.home, 0o700)
    expect(stdout).toMatch(/^problem +credentials +They cannot be kept in .*: you lack the permission\./m)
  })

  it.each(['', '0', 'true'])('warns that a proxy has no effect with NODE_USE_ENV_PROXY=%s', async (value) => {
    const env = { HTTPS_PROXY: 'http://proxy:3128', NODE_USE_ENV_PROXY: value }
    expect((await machine.svc(['doctor'], { env })).stdout).toMatch(/^warning +environment +HTTPS_PROXY is set/m)
  })

  it('warns of variables that lead agents elsewhere', async () => {
    const { stdout, status } = await machine.svc(['doctor'], {
      env: { CLAUDE_CODE_USE_BEDROCK: '1', ANTHROPIC_API_KEY: 'secret-key', HTTPS_PROXY: 'http://proxy:3128' },
    })
    expect(status).toBe(0)
    expect(stdout).toMatch(/^warning +environment +CLAUDE_CODE_USE_BEDROCK is set: claude calls another service\./m)
    expect(stdout).toMatch(/^warning +environment +ANTHROPIC_API_KEY is set: claude sends it to svc\./m)
    expect(stdout).toMatch(/^warning +environment +HTTPS_PROXY is set/m)
    expect(stdout).not.toContain('secret-key')
  })

  const MODEL = { id: 'svc/fast', metadata: { aliases: [], aliasOf: null } }
  const NO_MODELS = { data: [], workers: [], models: [], defaultModel: null }

  /** What doctor prints for a deployment that answers every request with this, and where its gateway is. */
  async function examine(answer: object, { status = 200, secondsAhead = 0 } = {}) {
    const server = createServer((_, res) => {
      const date = addSeconds(new Date(), secondsAhead).toUTCString()
      res.writeHead(status, { date, 'content-type': 'application/json', 'x-request-id': 'req_1' })
      res.end(JSON.stringify({ endpoint: url, ...answer }))
    })
    const url = `http://localhost:${await listenOnLoopback(server)}`
    await using other = await newMachine(machine)
    await other.moveProfile(service, url)
    const ran = await other.svc(['doctor', '--url', url])
    server.closeAllConnections()
    server.close()
    return ran
  }

  it('finds a control plane that fails', async () => {
    const { stdout } = await examine({}, { status: 500 })
    expect(stdout).toMatch(/^problem +control plane +http:\S+ answered 500\. Check the URL, or tell your operator\.$/m)
  })

  it('checks a gateway with an address of its own while the control plane cannot be reached', async () => {
    const url = `http://localhost:${await closedPort()}`
    await using other = await newMachine(machine)
    await other.moveProfile(service, url, service.config.baseUrl)
    const { stdout, status } = await other.svc(['doctor', '--url', url])
    expect(status).toBe(1)
    expect(stdout).toMatch(/^problem +control plane +Nothing listens at localhost:\d+\./m)
    expect(stdout).toMatch(/^ok +gateway +http:\S+ answers; models that your team may use: \d+\.$/m)
  })

  it.each([
    [90, /(89|90|91) s behind/],
    [3600, /60 minutes behind/],
    [-400 * DAY_SECONDS, /400 days ahead of/],
  ])('finds a clock that differs from that of the deployment by %i s', async (secondsAhead, difference) => {
    const { stdout, status } = await examine(NO_MODELS, { secondsAhead })
    expect(status).toBe(1)
    expect(/^problem +clock +The clock of this machine is (.*) that of/m.exec(stdout)?.[1]).toMatch(difference)
  })

  it('tells admins which backends do not work', async () => {
    const works = { kind: 'vendor', dialects: ['chat'], state: 'ready', breaker: 'closed', lastError: null }
    const lastError = { at: '2026-11-22T10:00:00.000Z', result: '529' }
    const backends = [
      { ...works, name: 'vendora' },
      { ...works, name: 'vendorb', breaker: 'open', lastError },
      { ...works, name: 'eu', state: 'unavailable', lastError: { ...lastError, result: 'unreachable' } },
      { ...works, name: 'us', state: 'not_configured' },
      { ...works, name: 'azure', lastError: { ...lastError, result: '401' } },
      { ...works, name: 'zai', lastError: { ...lastError, result: '404' } },
    ]
    const workers = [{ id: 'local-engine', state: 'model_missing' }]
    const { stdout, status } = await examine({ ...NO_MODELS, data: [MODEL], workers, backends })
    expect(status).toBe(0)
    expect(stdout).toMatch(/^warning +local worker +local-engine is model missing\. The operator can start/m)
    expect(stdout.match(/^warning +backend +.*$/gm)).toEqual([
      expect.stringMatching(
        /vendorb has failed repeatedly, so it is tried last\. Its last error was 529, at 2026-11-22T/,
      ),
      expect.stringMatching(/eu cannot be reached\. Its last error was unreachable, at 2026/),
      expect.stringMatching(/us is not called, because the gateway has no credential for it/),
      expect.stringMatching(/azure has refused the credential of the gateway\. Its last error was 401, at 2026/),
      expect.stringMatching(/zai did not find what .* error was 404, at 2026.* its URL and its basePath\./),
    ])
  })

  it('tells admins that there is no backend', async () => {
    const workers = [{ id: 'local-engine', state: 'not_configured' }]
    const { stdout, status } = await examine({ data: [MODEL], workers, backends: [] })
    expect(status).toBe(1)
    expect(stdout).toMatch(/^problem +backends +The gateway has no backend, so it can answer no call/m)
  })

  it('tells admins which models of the team no backend serves', async () => {
    const serveAt = (backend: string) => `serve: [{ backend: ${backend}, model: any }]`
    const model = (id: string, rest: string) => `  - { id: ${id}, displayName: Any, owner: team, ${rest} }`
    await using partly = await startAtOwnAddress({
      SVC_POLL_INTERVAL_SECONDS: '1',
      SVC_VENDORB_UPSTREAM_URL: 'http://127.0.0.1:9',
    })
    await partly.applyDirectory(`
organizations:
  - name: acme
    teams:
      - name: core
        defaultModel: team/default
        models: [team/default, team/local, team/hidden, team/served]
        members: [{ email: ada@example.com, role: admin }]
models:
${model('team/default', serveAt('vendora'))}
${model('team/local', 'backendModel: any')}
${model('team/hidden', `published: false, ${serveAt('vendora')}`)}
${model('team/served', `aliases: [draft, 'any-*'], ${serveAt('vendorb')}`)}
`)
    await using fresh = await newMachine()
    await fresh.signIn(partly)
    const url = partly.config.baseUrl
    const { stdout, status } = await fresh.svc(['doctor', '--url', url])
    expect(status).toBe(1)
    expect(stdout).toContain('models that your team may use: 3.')
    expect(stdout).toMatch(/^problem +default model +No backend of the gateway serves team\/default, so calls /m)
    expect(stdout).toContain(`Or choose another one: svc models default ID --url ${url}\n`)
    expect(stdout).toMatch(/^warning +models +No backend of the gateway serves team\/local, so calls/m)
  })
})

const FULL_DISK = `throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })`

/** Writes a module with which the tokens cannot be removed, as on a read-only disk. Returns its path. */
async function keepTokens({ home }: Machine): Promise<string> {
  const module = path.join(home, 'keep-tokens.mjs')
  const code = `import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
const { rm } = fs
fs.rm = async (path, options) => {
  if (path.endsWith('tokens.json')) throw Object.assign(new Error('EROFS'), { code: 'EROFS', path })
  return rm(path, options)
}
syncBuiltinESMExports()`
  await writeFile(module, code)
  return module
}

describe('svc logout', () => {
  it('ends the session at the service and forgets it here', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    const token = (await other.svc(['token'])).stdout.trim()
    const ran = await other.svc(['logout'])
    expect([ran.status, ran.stdout]).toEqual([0, `Signed out of ${service.config.baseUrl}.\n`])
    expect((await other.svc(['token'])).status).toBe(3)
    expect((await service.clientOf(token).GET('/device')).response.status).toBe(401)
  })

  it('ends the session also where the profile is damaged', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    const token = (await other.svc(['token'])).stdout.trim()
    await writeFile(path.join(path.dirname(other.tokensOf(service)), 'profile.json'), '{')
    expect((await other.svc(['logout'])).stdout).toBe(`Signed out of ${service.config.baseUrl}.\n`)
    expect(existsSync(other.tokensOf(service))).toBe(false)
    expect((await service.clientOf(token).GET('/device')).response.status).toBe(401)
  })

  it('removes credentials that are damaged, and says that the session may be open', async () => {
    await using other = await newMachine(machine)
    await writeFile(other.tokensOf(service), '{')
    const ran = await other.svc(['logout'])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringMatching(/are deleted, but .* may still be open/)])
    expect(existsSync(other.tokensOf(service))).toBe(false)
  })

  it('removes the credentials when the service cannot be reached, and says so', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url)
    const ran = await other.svc(['logout', '--url', url])
    expect(ran.status).toBe(1)
    expect(ran.stderr).toContain('The credentials on this machine are deleted')
    expect((await other.svc(['token', '--url', url])).status).toBe(3)
  })

  it('says that the session has ended when the credentials cannot be removed', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    const token = (await other.svc(['token'])).stdout.trim()
    const file = other.tokensOf(service)
    const ran = await other.start(['logout'], {
      env: { NODE_OPTIONS: `--import=${await keepTokens(other)}` },
    })
    const message = `could not be deleted from this machine: ${file} cannot be used: its disk is read-only.\n`
    expect([ran.status, ran.stdout]).toEqual([1, ''])
    expect(ran.stderr).toBe(`The session at ${service.config.baseUrl} has ended, but its credentials ${message}`)
    expect((await service.clientOf(token).GET('/device')).response.status).toBe(401)
  })

  it('says what is left when the service cannot be reached and the credentials cannot be removed', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url)
    const ran = await other.start(['logout', '--url', url], {
      env: { NODE_OPTIONS: `--import=${await keepTokens(other)}` },
    })
    expect(ran.status).toBe(1)
    expect(ran.stderr).toMatch(
      /^The credentials on this machine could not be deleted: .* read-only\. Also, .* may still be open/,
    )
  })

  it('removes the credentials on a full disk', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    const ran = await other.start(['logout'], {
      env: { NODE_OPTIONS: `--import=${await other.watchWrites(FULL_DISK)}` },
    })
    expect([ran.status, ran.stdout]).toEqual([0, `Signed out of ${service.config.baseUrl}.\n`])
    // A lock file that is left over would make other commands wait.
    expect(await readdir(path.dirname(other.tokensOf(service)))).toEqual(['profile.json'])
  })

  it('signs every device out with --everywhere', async () => {
    await using one = await newMachine()
    await using another = await newMachine()
    await one.signIn(service)
    await another.signIn(service)
    expect((await one.svc(['logout', '--everywhere'])).stdout).toMatch(
      /Signed out of \S+ and from \d+ devices in all\./,
    )
    const ran = await another.svc(['status'])
    expect(ran.status).toBe(3)
    expect(
      ran.stdout.match(/^(control plane|gateway|local worker) .*not usable\. Your session at \S+ has ended/gm),
    ).toHaveLength(3)
  })
})

describe('output on a full disk', () => {
  it.runIf(existsSync('/dev/full'))('is a failure with a message', async () => {
    const command = path.join(import.meta.dirname, '../../src/cli/package-entry.ts')
    const line = `"${process.execPath}" "${command}" version > /dev/full`
    await expect(promisify(execFile)('sh', ['-c', line])).rejects.toMatchObject({
      code: 1,
      stderr: 'The output cannot be written: its disk is full.\n',
    })
  })
})

describe('messages on a full disk', () => {
  it.runIf(existsSync('/dev/full'))('are lost, and the exit status stays', async () => {
    const command = path.join(import.meta.dirname, '../../src/cli/package-entry.ts')
    const line = `"${process.execPath}" "${command}" unknown 2> /dev/full`
    await expect(promisify(execFile)('sh', ['-c', line])).rejects.toMatchObject({ code: 2 })
  })
})

describe('output in a pipe', () => {
  it('is plain text', async () => {
    const { stdout, stderr } = await machine.start(['models'])
    expect(stdout + stderr).not.toContain('\u001b')
  })
})

describe('the commands that a message names', () => {
  const team = ['--team', '@acme/core']

  // Tests before this one have signed the machine out.
  beforeAll(() => machine.signIn(service))

  it.each([
    [['keys', 'revoke', 'ffffffff', ...team], 'svc keys --team @acme/core --url URL'],
    [['keys', '--service', 'unknown', ...team], 'svc service-accounts --team @acme/core --url URL'],
    [['service-accounts', ...team], 'svc service-accounts create NAME --team @acme/core --url URL'],
    [['members', 'remove', 'nobody@example.com', ...team], 'svc members --team @acme/core --url URL'],
    [['uninvite', 'nobody@example.com', ...team], 'svc members --team @acme/core --url URL'],
    [['devices', 'revoke', 'ffffffff'], 'svc devices --url URL'],
    [['limits', 'remove', 'ffffffff', ...team], 'svc limits --team @acme/core --url URL'],
    [['limits', 'remove', 'ffffffff'], 'svc limits --team --url URL'],
    [['limits', 'set', '5', '--per', 'day', '--key', 'ffffffff', ...team], 'its owner finds with: svc keys --url URL'],
    [['audit', '--action', 'typo', ...team], 'svc audit --team @acme/core --url URL'],
    [['directory', 'plan', '-'], 'svc directory apply - --yes --url URL'],
    [['setup', 'codex', '--model', 'svc/fast'], 'svc setup codex --write --model svc/fast --url URL'],
    [['setup', 'opencode', '--write'], 'svc keys --url URL'],
    [['setup', 'codex', '--days', '3'], 'svc setup opencode --write --days DAYS --url URL'],
    [['setup', 'zed', '--write'], 'svc setup zed --url URL'],
    [['setup', 'openai'], 'eval "$(svc setup openai --url URL)"'],
    [['setup', 'zed'], `svc keys create "zed on ${hostname()}" --print --url URL`],
  ])('of svc %j are for its team and its deployment', async (args, command) => {
    const url = service.config.baseUrl
    const input = `
organizations:
  - name: acme
    teams: [{ name: core, members: [{ email: kay@example.com }] }]
`
    const ran = await machine.svc([...args, '--url', url], { input })
    expect(ran.stdout + ran.stderr).toContain(command.replace('URL', url))
  })

  it('of svc doctor are for the deployment that it checks', async () => {
    await using other = await newMachine(machine)
    await other.install('codex', '')
    const url = service.config.baseUrl
    expect((await other.svc(['doctor', '--url', url])).stdout).toContain(`svc run codex --url ${url}`)
  })

  it.each(['models', 'status', 'doctor'])('sign in where svc %s is refused with a new token too', async (command) => {
    const tokens = JSON.parse(await readFile(machine.tokensOf(service), 'utf8')) as object
    const refusal = { error: { code: 'unauthorized', message: 'No.' } }
    const server = createServer(({ url: route = '' }, res) => {
      const isOpen = ['/healthz', '/v1/auth/token/refresh'].includes(route)
      res.writeHead(isOpen ? 200 : 401, { 'content-type': 'application/json', 'x-request-id': 'req_1' })
      res.end(JSON.stringify(isOpen ? { ...tokens, accessToken: 'new' } : refusal))
    })
    const url = `http://localhost:${await listenOnLoopback(server)}`
    await using other = await newMachine(machine)
    await other.moveProfile(service, url)
    const { stdout, stderr } = await other.svc([command, '--url', url])
    server.close()
    expect(stdout + stderr).toContain(`No. Run: svc login ${url}`)
  })

  it('sign in where a newer sign-in is needed', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    service.clock.advance({ seconds: 15 * 60 + 1 })
    const url = service.config.baseUrl
    const create = ['keys', 'create', 'x']
    expect((await other.svc(create)).stderr).toContain('Run svc login, approve it')
    expect((await other.svc([...create, '--url', url])).stderr).toContain(`Run svc login ${url}, approve it`)
  })
})

describe('svc setup without --model', () => {
  it('names the default model of the team', async () => {
    await service.applyDirectory(`
organizations:
  - name: acme
    teams:
      - name: core
        defaultModel: vendora/large
        models: [svc/fast, vendora/large, vendorb/writer]
        members: [{ email: ada@example.com, role: admin }]
models:
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: 'qwen3:8b' }
  - { id: vendora/large, displayName: Large, owner: vendora }
  - { id: vendorb/writer, displayName: Writer, owner: vendorb }
`)
    service.clock.advance({ seconds: 10 })
    expect((await machine.svc(['setup', 'codex'])).stdout).toMatch(/^model = "vendora\/large"$/m)
  })
})

describe('a team that may use no model', () => {
  beforeAll(async () => {
    const members = '[{ email: ada@example.com, role: admin }]'
    await service.applyDirectory(`organizations: [{ name: acme, teams: [{ name: core, members: ${members} }] }]`)
    service.clock.advance({ seconds: 10 })
  })

  it.each([
    ['models', 0, /^The team @acme\/core may use no model\. Its admins can add one/],
    ['run codex', 1, /^The team @acme\/core may use no model\. Its admins can add one/],
    ['run codex --model svc/fast', 1, /^The team @acme\/core may use no model\. Its admins can add one/],
    ['doctor', 1, /^problem +gateway .* your team may use no model\. Its admins can add one/m],
  ])('is told by svc %s who can add one', async (command, status, message) => {
    const ran = await machine.svc(command.split(' '))
    expect([ran.status, ran.stdout + ran.stderr]).toEqual([status, expect.stringMatching(message)])
  })
})
