import { execFile } from 'node:child_process'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { listenOnLoopback } from '../support/loopback.ts'
import { bearerOf } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { waitForValue } from '../support/wait.ts'
import { closedPort, newMachine } from './machine.ts'
import type { Machine } from './machine.ts'

let engine: TestEngine
let service: TestService
let machine: Machine
beforeAll(async () => {
  engine = await startEngine()
  service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1', SVC_LOCAL_ENGINE_URL: engine.url.href })
  machine = await newMachine()
  await machine.signIn(service)
})
afterAll(async () => {
  await machine[Symbol.asyncDispose]()
  await service[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

type Started = { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> }

/** Starts a stand-in for an agent, and returns how it was started. */
async function started(
  agent: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
  on = machine,
): Promise<Started> {
  // Not in the home folder, where a test looks for what was written.
  const file = `${on.home}.started.json`
  const started = '{ args: process.argv.slice(2), env: process.env }'
  await on.install(agent, `require('node:fs').writeFileSync('${file}', JSON.stringify(${started}))`)
  expect(await on.svc(['run', agent, ...args], { env })).toEqual({ status: 0, stdout: '', stderr: '' })
  const text = await readFile(file, 'utf8')
  await rm(file)
  return JSON.parse(text) as Started
}

const isToken = async (token: string) => (await service.clientOf(token.trim()).GET('/device')).response.status === 200

describe('svc run codex', () => {
  it('gives it a provider and its model as overrides, before its own arguments', async () => {
    const { args } = await started('codex', ['--', 'exec', '--model', 'x', 'say hi'])
    const overrides = args.filter((_, index) => args[index - 1] === '-c')
    const url = service.config.gatewayUrl
    expect(overrides).toEqual([
      'model="svc/fast"',
      'model_provider="svc"',
      'model_providers.svc.name="svc"',
      `model_providers.svc.base_url="${url}/codex/v1"`,
      'model_providers.svc.wire_api="responses"',
      'model_providers.svc.supports_websockets=false',
      `model_providers.svc.model_catalog_url="${url}/codex/v1/models"`,
      expect.stringMatching(/^model_providers\.svc\.auth\.command="\//),
      expect.stringMatching(/^model_providers\.svc\.auth\.args=\["\/.*","token","--url","http:/),
      'model_providers.svc.auth.timeout_ms=30000',
      'model_providers.svc.auth.refresh_interval_ms=45000',
    ])
    expect(args.slice(-4)).toEqual(['exec', '--model', 'x', 'say hi'])
  })

  it('gives it a command that prints a good token, with which it reads the models of the team', async () => {
    const { args } = await started('codex')
    const valueOf = (key: string) => {
      const override = args.find((arg) => arg.startsWith(`model_providers.svc.${key}=`)) ?? ''
      return JSON.parse(override.slice(override.indexOf('=') + 1)) as unknown
    }
    const [command, ofCommand] = [valueOf('auth.command') as string, valueOf('auth.args') as string[]]
    const { stdout } = await promisify(execFile)(command, ofCommand, { env: { HOME: machine.home } })
    expect(await isToken(stdout)).toBe(true)
    const headers = bearerOf(stdout.trim())
    const list = await fetch(`${valueOf('model_catalog_url') as string}?client_version=0.171.0`, { headers })
    const { models } = (await list.json()) as { models: { slug: string }[] }
    expect(models.map(({ slug }) => slug)).toContain('svc/fast')
  })
})

describe('svc run codex with the root certificate of a company', () => {
  it.each([
    [{}, 'ca.pem'],
    [{ CODEX_CA_CERTIFICATE: 'own.pem' }, 'own.pem'],
    [{ SSL_CERT_FILE: 'all.pem' }, undefined],
  ])('names its file to Codex unless the person has named one: %j', async (given, file) => {
    const { env } = await started('codex', [], { NODE_EXTRA_CA_CERTS: 'ca.pem', ...given })
    expect(env['CODEX_CA_CERTIFICATE']).toBe(file)
  })
})

describe('svc run without the control plane', () => {
  it('starts the agent with what it knows of the team, where the team has a gateway of its own', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url, service.config.baseUrl)
    const { args } = await started('codex', ['--url', url], {}, other)
    expect(args).toContain('model="svc/fast"')
    expect(args).toContain(`model_providers.svc.base_url="${service.config.baseUrl}/codex/v1"`)
  })

  it('knows what an earlier run has learned of the team', async () => {
    await using other = await newMachine(machine)
    const file = path.join(path.dirname(other.tokensOf(service)), 'profile.json')
    const profile = await readFile(file, 'utf8')
    const earlier = {
      ...(JSON.parse(profile) as object),
      gatewayUrl: 'http://earlier.example',
      defaultModel: 'earlier',
    }
    await writeFile(file, JSON.stringify(earlier))
    await started('codex', [], {}, other)
    expect(await readFile(file, 'utf8')).toBe(profile)
  })

  it('waits for it once, so that the agent gets its first token at once', async () => {
    await using other = await newMachine(machine)
    let connections = 0
    const breaking = createServer((socket) => {
      connections++
      socket.destroy()
    })
    const url = `http://localhost:${await listenOnLoopback(breaking)}`
    await other.age(service, 900)
    await other.moveProfile(service, url, service.config.baseUrl)
    await started('codex', ['--url', url], {}, other)
    const before = connections
    expect((await other.svc(['token', '--url', url])).status).toBe(0)
    expect([before > 0, connections]).toEqual([true, before])
    breaking.close()
  })

  it('does not start it where the gateway is the same deployment', async () => {
    await using other = await newMachine(machine)
    const url = `http://localhost:${await closedPort()}`
    await other.moveProfile(service, url)
    const ran = await other.svc(['run', 'codex', '--url', url])
    expect([ran.status, ran.stderr]).toEqual([1, expect.stringContaining('Nothing listens at')])
  })
})

describe('svc run claude', () => {
  it('gives it settings with a helper that prints a good token', async () => {
    const { args } = await started('claude', ['--model', 'vendorb/writer', '--', '-p', 'say hi'])
    expect([args[0], ...args.slice(2)]).toEqual(['--settings', '-p', 'say hi'])
    const settings = JSON.parse(args[1] ?? '') as { apiKeyHelper: string; env: Record<string, string> }
    expect(settings.env).toMatchObject({
      ANTHROPIC_BASE_URL: `${service.config.gatewayUrl}/vendorb`,
      ANTHROPIC_MODEL: 'vendorb/writer',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'vendorb/writer',
    })
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', settings.apiKeyHelper], {
      env: { HOME: machine.home },
    })
    expect(await isToken(stdout)).toBe(true)
  })

  it('empties variables for another service that its settings file may set', async () => {
    const { args } = await started('claude')
    const { env } = JSON.parse(args[1] ?? '') as { env: Record<string, string> }
    expect(env).toMatchObject({ ANTHROPIC_AUTH_TOKEN: '', CLAUDE_CODE_USE_BEDROCK: '', ANTHROPIC_MODEL: '' })
  })

  it('takes a model with the suffix by which Claude Code asks for its long context', async () => {
    const { args } = await started('claude', ['--model', 'vendorb/writer[1m]'])
    const { env } = JSON.parse(args[1] ?? '') as { env: Record<string, string> }
    expect(env['ANTHROPIC_MODEL']).toBe('vendorb/writer[1m]')
    expect(await machine.svc(['run', 'claude', '--model', 'unknown[1m]'])).toMatchObject({ status: 2 })
    expect(await machine.svc(['run', 'codex', '--model', 'vendorb/writer[1m]'])).toMatchObject({ status: 2 })
  })

  it('removes variables that override the settings from its environment', async () => {
    const given = {
      ANTHROPIC_API_KEY: 'k',
      ANTHROPIC_AUTH_TOKEN: 't',
      ANTHROPIC_BASE_URL: 'https://a.example',
      ANTHROPIC_MODEL: 'm',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: 'm',
      MINE: '1',
    }
    const { env } = await started('claude', [], given)
    expect(Object.keys(env).filter((name) => name.startsWith('ANTHROPIC_'))).toEqual([])
    expect(env['MINE']).toBe('1')
  })
})

describe('svc run opencode', () => {
  /**
   * A stand-in that calls the model twice with what its settings say, as chat completions whole and as a stream, and
   * once without the key.
   */
  const CALL = `
    const { model, provider } = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT)
    const { baseURL, apiKey } = provider.svc.options
    const call = (body, key = apiKey) => fetch(baseURL + '/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer ' + key },
      body: JSON.stringify({ model: model.slice('svc/'.length), messages: [{ role: 'user', content: 'hi' }], ...body }),
    })
    const whole = await (await call({})).json()
    const stream = await (await call({ stream: true })).text()
    const stranger = await call({}, 'guessed')
    console.log(JSON.stringify({
      host: new URL(baseURL).hostname,
      whole: whole.choices[0].message.content,
      ended: stream.trim().endsWith('[DONE]'),
      stranger: [stranger.status, (await stranger.json()).error.code],
    }))`

  it('serves the gateway at a local URL that accepts only its own key', async () => {
    await machine.install('opencode', CALL)
    const ran = await machine.start(['run', 'opencode'])
    expect([ran.status, ran.stderr]).toEqual([0, ''])
    expect(JSON.parse(ran.stdout)).toEqual({
      host: '127.0.0.1',
      whole: 'Hello!',
      ended: true,
      stranger: [401, 'unauthorized'],
    })
  })

  it.each([
    [{}, '127.0.0.1'],
    [{ NO_PROXY: 'corp.example' }, 'corp.example,127.0.0.1'],
    [{ no_proxy: 'corp.example' }, 'corp.example,127.0.0.1'],
  ])('keeps the calls to that URL from the proxy of the environment: %j', async (given, hosts) => {
    const { env } = await started('opencode', [], { HTTP_PROXY: 'http://proxy.example', ...given })
    expect(env).toMatchObject({ NO_PROXY: hosts, no_proxy: hosts })
  })

  it('gives every call a fresh token, also where the clock of this machine stands still', async () => {
    await machine.install('opencode', `console.log('started'); process.stdin.on('data', async () => {${CALL}})`)
    const ran = await machine.start(['run', 'opencode'], {
      onPrint: async (printed, child) => {
        const isFirst = printed.includes('started')
        if (!isFirst && !child.stdin?.writable) return
        service.clock.advance({ seconds: 901 })
        await machine.age(service, isFirst ? 901 : 0)
        if (isFirst) child.stdin?.write('go\n')
        else child.stdin?.end('go\n')
      },
    })
    const answers = ran.stdout.trim().split('\n').slice(1)
    expect(answers.map((line) => JSON.parse(line) as object)).toMatchObject(
      Array(2).fill({ whole: 'Hello!', ended: true }),
    )
  })

  it('says 401 with what to do when the session has ended', async () => {
    await using other = await newMachine()
    await other.signIn(service)
    await other.install(
      'opencode',
      `
      const { baseURL, apiKey } = JSON.parse(process.env.OPENCODE_CONFIG_CONTENT).provider.svc.options
      console.log('started')
      process.stdin.once('data', async () => {
        const answer = await fetch(baseURL + '/models', { headers: { authorization: 'Bearer ' + apiKey } })
        console.log(answer.status, (await answer.json()).error.message)
      })`,
    )
    const ran = await other.start(['run', 'opencode'], {
      onPrint: async (printed, child) => {
        if (!printed.includes('started')) return
        await other.svc(['logout'])
        child.stdin?.end('go\n')
      },
    })
    expect(ran.stdout).toMatch(/^started\n401 You are not signed in to \S+ Run: svc login/)
  })
})

describe('svc run on Windows', () => {
  /** Puts an agent on PATH as npm does: a `.cmd` file that starts a script. */
  async function installWithNpm(agent: string, code: string): Promise<void> {
    const bin = path.join(machine.home, 'bin')
    await mkdir(path.join(bin, 'modules'), { recursive: true })
    await writeFile(path.join(bin, `modules/${agent}.js`), code)
    const shim = String.raw`"%_prog%"  "%dp0%\modules\AGENT.js" %*`.replace('AGENT', agent)
    await writeFile(path.join(bin, `${agent}.cmd`), shim, { mode: 0o755 })
  }

  const readWritten = async (file: string) =>
    JSON.parse(await readFile(path.join(machine.home, file), 'utf8')) as unknown

  it('gives an agent that npm has installed each argument as it is, and ends with its status', async () => {
    await installWithNpm(
      'codex',
      `require('node:fs').writeFileSync(process.env.HOME + '/args.json', JSON.stringify(process.argv.slice(2)))
      process.exit(42)`,
    )
    const args = ['a b', 'say "a & b"', '100%PATH%', 'c^d', 'two\nlines', '']
    const ran = await machine.svc(['run', 'codex', '--', ...args], { environment: { platform: 'win32' } })
    expect([ran.status, ran.stderr]).toEqual([42, ''])
    expect((await readWritten('args.json')) as string[]).toEqual(expect.arrayContaining(['model="svc/fast"', ...args]))
  })

  it('leaves it to the agent what it does when the window is closed', async () => {
    await installWithNpm(
      'codex',
      `require('node:fs').writeFileSync(process.env.HOME + '/started.json', '1')
      setTimeout(() => process.exit(7), 300)`,
    )
    // A library of the tests listens too, and ends the process.
    const others = process.listeners('SIGHUP')
    const running = machine.svc(['run', 'codex'], { environment: { platform: 'win32' } })
    await waitForValue('the agent', () => readWritten('started.json'), 1)
    const own = process.listeners('SIGHUP').filter((listener) => !others.includes(listener))
    expect(own).toHaveLength(1)
    for (const listener of own) listener('SIGHUP')
    expect((await running).status).toBe(7)
    expect(process.listeners('SIGHUP')).toEqual(others)
  })
})

describe('every agent', () => {
  it('ends with its own exit status', async () => {
    await machine.install('codex', 'process.exit(42)')
    expect((await machine.start(['run', 'codex'])).status).toBe(42)
    await machine.install('codex', "process.kill(process.pid, 'SIGKILL')")
    expect((await machine.svc(['run', 'codex'])).status).toBe(137)
  })

  it('gets SIGINT, SIGTERM and SIGHUP where there is no terminal', async () => {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
    const code = `
      setInterval(() => {}, 1000)
      for (const signal of ${JSON.stringify(signals)}) process.on(signal, () => console.log(signal))
      process.on('SIGHUP', () => process.exit(42))
      console.log('ready')`
    await machine.install('codex', code)
    let sent = 0
    const ran = await machine.start(['run', 'codex'], { onPrint: (_, child) => void child.kill(signals[sent++]) })
    expect([ran.status, ran.stdout]).toEqual([42, 'ready\nSIGINT\nSIGTERM\nSIGHUP\n'])
  })

  it('that is not installed is named with how to install it', async () => {
    await using other = await newMachine(machine)
    const ran = await other.svc(['run', 'claude'], { env: { PATH: '/nowhere' } })
    expect([ran.status, ran.stderr]).toEqual([
      1,
      'claude is not installed. Run: npm install -g @anthropic-ai/claude-code\n',
    ])
  })

  it('that cannot be started is named with how to repair it', async () => {
    await using other = await newMachine(machine)
    const file = path.join(other.home, 'bin/codex')
    await writeFile(file, '#!/nowhere/node', { mode: 0o755 })
    const ran = await other.svc(['run', 'codex'])
    expect([ran.status, ran.stderr]).toEqual([
      1,
      `${file} cannot be started (ENOENT). To repair it: npm install -g @openai/codex\n`,
    ])
  })

  it('is not started when not signed in', async () => {
    await using other = await newMachine()
    await other.install('codex', 'process.exit(42)')
    expect(await other.svc(['run', 'codex'])).toMatchObject({ status: 3, stdout: '' })
  })

  it.each(['codex', 'claude', 'opencode'])(
    '%s starts with nothing written into the home of the person',
    async (agent) => {
      await machine.install(agent, '')
      const before = await readdir(machine.home, { recursive: true })
      await started(agent)
      expect(await readdir(machine.home, { recursive: true })).toEqual(before)
    },
  )
})
