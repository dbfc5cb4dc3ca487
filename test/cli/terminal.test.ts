import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readEnvironment } from '../../src/cli/environment.ts'
import { makeOutput } from '../../src/cli/terminal/output.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import type { TestService } from '../support/service.ts'
import { newMachine } from './machine.ts'
import type { Machine } from './machine.ts'

const COMMAND = path.join(import.meta.dirname, '../../src/cli/package-entry.ts')

/** Keeps compiled code between the starts of the command. vitest.config.ts sets it. */
const { PATH, NODE_COMPILE_CACHE } = process.env

/** The program of Linux that runs a command in a terminal. That of macOS takes other arguments. */
const SCRIPT = '/usr/bin/script'
const hasScript = process.platform === 'linux' && existsSync(SCRIPT)

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'

/** Runs `svc` in a terminal with so many columns. */
function startOnTerminal(args: readonly string[], home: string, columns: number) {
  const line = [process.execPath, COMMAND, ...args].join(' ')
  const env = { HOME: home, PATH: `${path.join(home, 'bin')}:${PATH}`, NODE_COMPILE_CACHE, TERM: 'xterm' }
  return spawn(SCRIPT, ['-qec', `stty cols ${columns}; exec ${line}`, '/dev/null'], { env })
}

/**
 * Runs `svc` in a terminal, and presses a key as soon as a text is shown. Resolves with the exit status. Rejects when the
 * text was not shown.
 */
function pressAt(key: string, shown: string, args: readonly string[], home: string): Promise<number | null> {
  const child = startOnTerminal(args, home, 80)
  let printed = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const wasShown = printed.includes(shown)
    printed += text
    if (!wasShown && printed.includes(shown)) child.stdin.write(key)
  })
  return new Promise((resolve, reject) => {
    child.once('error', reject).once('close', (status) => {
      if (printed.includes(shown)) resolve(status)
      else reject(new Error(`"${shown}" was not shown: ${printed}`))
    })
  })
}

describe.runIf(hasScript)('Ctrl-C ends with status 130, while the deployment does not answer,', () => {
  const silent = createServer()
  let url: string
  let machine: Machine
  beforeAll(async () => {
    await using service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
    machine = await newMachine()
    await machine.signIn(service)
    url = `http://localhost:${await listenOnLoopback(silent)}`
    await machine.moveProfile(service, url)
  })
  afterAll(async () => {
    silent.close()
    await machine[Symbol.asyncDispose]()
  })

  it.each([
    ['login', 'Asking the deployment', ['--email', 'ada@example.com']],
    ['status', 'Asking the deployment', []],
    ['setup', 'Asking the deployment', ['codex']],
    ['usage', 'Asking the deployment', []],
    ['models', 'Asking the deployment', []],
    ['chat', 'Waiting for the answer', ['Hello']],
    ['logout', 'Signing out', []],
  ])('svc %s, which shows "%s"', async (command, shown, args) => {
    expect(await pressAt(CTRL_C, shown, [command, ...args, '--url', url], machine.home)).toBe(130)
  })
})

it.runIf(hasScript)('a terminal that says it has no columns gets no question, but the option to give', async () => {
  await using machine = await newMachine()
  const child = startOnTerminal(['login', 'http://localhost:1'], machine.home, 0)
  const [printed, [status]] = await Promise.all([text(child.stdout), once(child, 'close')])
  expect([status, printed]).toEqual([2, expect.stringContaining('svc login http://localhost:1 --email ADDRESS')])
})

it('an interrupted command ends also while a proxy does not answer', async () => {
  await using machine = await newMachine()
  const proxy = createServer()
  const url = `http://127.0.0.1:${await listenOnLoopback(proxy)}`
  const env = { HOME: machine.home, NODE_COMPILE_CACHE, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: url }
  const args = ['login', 'http://svc.test', '--email', 'ada@example.com']
  const child = spawn(process.execPath, [COMMAND, ...args], { env })
  proxy.once('connection', () => child.kill('SIGINT'))
  const [status] = (await once(child, 'close')) as [number | null]
  expect(status).toBe(130)
  proxy.close()
})

it.runIf(hasScript).each([
  ['Ctrl-C', CTRL_C],
  ['Ctrl-D', CTRL_D],
])('%s at a question ends the command with status 130', async (_name, key) => {
  await using machine = await newMachine()
  const login = ['login', 'http://localhost:1']
  expect(await pressAt(key, 'Email address that is invited', login, machine.home)).toBe(130)
})

describe.runIf(hasScript)('in a terminal', () => {
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

  it('"No" ends svc directory apply with status 1', async () => {
    const file = path.join(machine.home, 'teams.yaml')
    const members = '[{ email: kay@example.com }]'
    await writeFile(file, `organizations: [{ name: acme, teams: [{ name: core, members: ${members} }] }]`)
    expect(await pressAt('n', 'Apply 1 change?', ['directory', 'apply', file], machine.home)).toBe(1)
  })

  it('an agent that svc run has started gets Ctrl-C once, and decides what it does', async () => {
    await machine.install(
      'codex',
      `let count = 0
      process.on('SIGINT', () => {
        count += 1
        setTimeout(() => process.exit(count), 500)
      })
      setInterval(() => console.log('ready'), 100)`,
    )
    expect(await pressAt(CTRL_C, 'ready', ['run', 'codex'], machine.home)).toBe(1)
  })
})

it.each([
  ['a terminal', true, true, { TERM: 'xterm' }],
  ['a terminal that can show none', false, true, { TERM: 'dumb' }],
  ['a terminal with NO_COLOR', false, true, { TERM: 'xterm', NO_COLOR: '1' }],
  ['a terminal with FORCE_COLOR=0', false, true, { TERM: 'xterm', FORCE_COLOR: '0' }],
  ['a pipe', false, false, { TERM: 'xterm' }],
  ['a pipe with FORCE_COLOR', true, false, { FORCE_COLOR: '1' }],
  ['a pipe with FORCE_COLOR=0', false, false, { FORCE_COLOR: '0' }],
])('output on %s has colours: %j', (_name, hasColours, isTTY, variables) => {
  const stream = Object.assign(new PassThrough(), { isTTY })
  const output = makeOutput(readEnvironment(variables), { stdin: stream, stdout: stream, stderr: stream })
  const isStyled = [output.style('red', 'x'), output.noteStyle('red', 'x')].map((text) => text !== 'x')
  expect(isStyled).toEqual([hasColours, hasColours])
})

it('prints no control characters of others, and colours only where it has some itself', async () => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true })
  const pipe = new PassThrough()
  const streams = { stdin: terminal, stdout: terminal, stderr: pipe }
  const output = makeOutput(readEnvironment({ TERM: 'xterm' }), streams)
  const printed = Promise.all([text(terminal), text(pipe)])
  const given = 'a\u001b[2J\u001b]0;t\u0007b\u001b[8mc\u009b31md\re'
  output.print(given)
  output.write(given)
  output.print(output.style('red', 'styled'))
  output.note(output.style('red', given))
  terminal.end()
  pipe.end()
  const shown = 'a[2J]0;tb[8mc31mde'
  expect(await printed).toEqual([`${shown}\n${shown}\u001b[31mstyled\u001b[39m\n`, `${shown}\n`])
})
