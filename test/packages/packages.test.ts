import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/loopback.ts'
import { expectOk } from '../support/requests.ts'
import type { TestService } from '../support/service.ts'
import { startAtOwnAddress } from '../support/own-address.ts'
import { waitUntil } from '../support/wait.ts'

const run = promisify(execFile)
const ROOT = path.join(import.meta.dirname, '../..')
const MAJORS = [20, 22, 24] as const

let folder: string
let service: TestService

/**
 * Packs all three packages, and installs each into a folder with nothing else; Node.js 20 and 22 come from npm as well.
 */
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-packages-'))
  const packed = await run('npm', ['run', '--silent', 'pack', '--', '--out', path.join(folder, 'packed')], {
    cwd: ROOT,
  })
  const [svc = '', client = '', cli = ''] = packed.stdout.trim().split('\n')
  const tarballs = Object.entries({ svc, client, cli })
  await Promise.all([
    ...tarballs.flatMap(([name, tarball]) => [
      install(name, tarball),
      unpack(tarball, path.join(folder, 'packed', name)),
    ]),
    unpackRuntimes([20, 22]),
  ])
  service = await startAtOwnAddress({ SVC_POLL_INTERVAL_SECONDS: '1' })
}, 300_000)
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function install(name: string, tarball: string): Promise<void> {
  const cwd = path.join(folder, name)
  await mkdir(cwd)
  await writeFile(path.join(cwd, 'package.json'), '{ "private": true, "type": "module" }')
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], { cwd })
}

/** Unpacks files of a tarball of npm, by default all of them, into a new folder. */
async function unpack(tarball: string, to: string, ...files: string[]): Promise<void> {
  await mkdir(to)
  await run('tar', ['-xzf', tarball, '-C', to, '--strip-components', '1', ...files])
}

/** Unpacks only the programs, because installing their packages takes twice the time. */
async function unpackRuntimes(majors: readonly number[]): Promise<void> {
  const names = majors.map((major) => `node-${process.platform}-${process.arch}@${major}`)
  const options = ['--silent', '--prefer-offline', '--pack-destination', folder]
  const { stdout } = await run('npm', ['pack', ...options, ...names])
  const tarballs = stdout.trim().split('\n')
  for (const [index, major] of majors.entries()) {
    await unpack(path.join(folder, tarballs[index] ?? ''), path.join(folder, `node${major}`), 'package/bin/node')
  }
}

/** What is read of a lock file of npm: packages by their folders. */
type Lock = { readonly packages: Readonly<Record<string, Locked>> }
type Locked = { readonly version: string; readonly dev?: boolean; readonly devOptional?: boolean }

const isDevelopment = ({ dev, devOptional }: Locked) => dev === true || devOptional === true

/** What is read of a list of packages in the CycloneDX format. */
type BillOfMaterials = {
  readonly metadata: { readonly component: { readonly name: string } }
  readonly components: readonly { readonly group?: string; readonly name: string; readonly version: string }[]
}

/** The program of Linux that runs a command in a terminal. That of macOS takes other arguments. */
const SCRIPT = '/usr/bin/script'
const hasScript = process.platform === 'linux' && existsSync(SCRIPT)

const CTRL_C = '\u0003'

/** The program of a Node.js; the newest is the one that runs the tests. */
const nodeOf = (major: (typeof MAJORS)[number]) =>
  major === 24 ? process.execPath : path.join(folder, `node${major}`, 'bin/node')

describe('npm run pack', () => {
  it.each([
    ['foo', /^There is no package foo\.\nUsage: npm run pack .*\nNames: svc, client, cli\./],
    ['--oot', /^Unknown option '--oot'.*\nUsage: npm run pack /],
  ])('says what is wrong with %s and packs nothing', async (argument, message) => {
    const out = path.join(folder, 'nothing')
    const packing = run(process.execPath, ['packaging/pack.ts', '--out', out, 'cli', argument], { cwd: ROOT })
    await expect(packing).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(message) as unknown })
    expect(existsSync(out)).toBe(false)
  })
})

const binOf = (name: string) => path.join(folder, name, 'node_modules/.bin/svc')

const environment = () => ({ HOME: path.join(folder, 'home'), PATH: '/usr/bin:/bin' })

describe.each(MAJORS)('on Node.js %i', (major) => {
  it('@svc/cli prints its version and signs in', async () => {
    const svc = (...args: string[]) => run(nodeOf(major), [binOf('cli'), ...args], { env: environment() })
    const { version } = JSON.parse(await readFile(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(await svc('--version')).toEqual({ stdout: `${version}\n`, stderr: '' })

    const login = svc('login', service.config.baseUrl, '--email', 'ada@example.com')
    login.child.stdout?.on('data', (text: string) => {
      if (text.includes('Waiting')) void service.approveByMail('ada@example.com')
    })
    expect((await login).stdout).toContain('Signed in to')
    const { stdout, stderr } = await svc('models')
    expect([stdout.split('\n').length, stderr]).toEqual([6, ''])
  })

  it('@svc/client cancels a stream after garbage was collected', async () => {
    const code = `
      import { once } from 'node:events'
      import { createServer } from 'node:http'
      import { createClient, streamMessage } from '@svc/client'
      const server = createServer((_, res) => {
        res.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"type":"ping"}\\n\\n')
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const controller = new AbortController()
      const read = async () => {
        const client = createClient({ baseUrl: 'http://127.0.0.1:' + server.address().port })
        const body = { model: 'any', max_tokens: 1, messages: [] }
        for await (const _ of streamMessage(client, body, controller)) setTimeout(collectAndAbort, 100)
      }
      function collectAndAbort() {
        for (let times = 0; times < 3; times++) gc()
        setTimeout(() => controller.abort(), 100)
      }
      await read().catch(({ name }) => console.log(name))
      server.closeAllConnections()
      server.close()`
    const cwd = path.join(folder, 'client')
    await writeFile(path.join(cwd, 'cancel.mjs'), code)
    const { stdout } = await run(nodeOf(major), ['--expose-gc', 'cancel.mjs'], { cwd, timeout: 20_000 })
    expect(stdout).toBe('AbortError\n')
  })

  it('@svc/client makes a call', async () => {
    const code = `
      import { createClient, unwrap } from '@svc/client'
      console.log((await unwrap(createClient({ baseUrl: '${service.config.baseUrl}' }).GET('/healthz'))).status)`
    const cwd = path.join(folder, 'client')
    expect(await run(nodeOf(major), ['--input-type=module', '-e', code], { cwd })).toEqual({
      stdout: 'ok\n',
      stderr: '',
    })
  })

  it('svc serves, on the Node.js that it brings where this one is too old, and stops on SIGTERM', async () => {
    // The first one creates the database.
    const env = { ...environment(), SVC_PORT: '0', SVC_DATABASE_URL: `embedded:${path.join(folder, 'db')}` }
    const child = spawn(nodeOf(major), [binOf('svc'), 'serve'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
    const port = await portOf(child.stdout)
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
    expect(await answer.json()).toEqual({ status: 'ok', database: 'ok' })
    expect((await fetch(`http://127.0.0.1:${port}/assets/auth.css`)).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${port}/openapi.json`)).status).toBe(200)
    const downloaded = `downloaded-${major}`
    await install(downloaded, `http://127.0.0.1:${port}/assets/svc-cli.tgz`)
    const printed = await run(nodeOf(major), [binOf(downloaded), 'version'], { env: environment() })
    expect(printed.stdout).toMatch(/^\d+\.\d+/)
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  }, 120_000)

  it('svc has the commands of people too', async () => {
    const { stdout } = await run(nodeOf(major), [binOf('svc'), '--help'], { env: environment() })
    expect(stdout).toMatch(/^ {2}login .*\n[^]*^ {2}serve /m)
  })
})

it.runIf(hasScript)(
  `svc stops in order at one Ctrl-C, also without a terminal as input, which needs ${SCRIPT}`,
  async () => {
    const port = await freePort()
    // A second signal would end the process while it drains.
    const env = { SVC_PORT: String(port), SVC_DATABASE_URL: 'memory:', SVC_DRAIN_SECONDS: '2' }
    const line = `exec ${nodeOf(20)} ${binOf('svc')} serve </dev/null`
    const child = spawn(SCRIPT, ['-qec', line, '/dev/null'], { env: { ...environment(), ...env } })
    let printed = ''
    child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
    await waitUntil(
      'the service to listen',
      () => printed,
      (log) => log.includes('service.listening'),
    )
    // Signals are handled in the same turn in which that was logged, so before any answer.
    await expectOk('The health', fetch(`http://127.0.0.1:${port}/healthz`))
    child.stdin.write(CTRL_C)
    await once(child, 'close')
    expect(printed).toContain('service.stopped')
  },
  60_000,
)

/** The port of the first line of the log that says it. */
async function portOf(stdout: AsyncIterable<Buffer>): Promise<number> {
  let printed = ''
  for await (const chunk of stdout) {
    printed += chunk.toString()
    const port = /"port":(\d+).*"service\.listening"/.exec(printed)?.[1]
    if (port) return Number(port)
  }
  throw new Error(`It did not listen: ${printed}`)
}

describe('what is packed', () => {
  it('of @svc/cli is one file of code, without dependencies', async () => {
    const files = await readdir(path.join(folder, 'cli/node_modules'), { recursive: true })
    expect(files.filter((file) => file.endsWith('.js'))).toEqual(['@svc/cli/svc.js'])
    expect(await readdir(path.join(folder, 'cli/node_modules'))).toEqual(['.bin', '.package-lock.json', '@svc'])
  })

  it('has the licenses of what is bundled', async () => {
    const licenses = await readFile(path.join(folder, 'cli/node_modules/@svc/cli/LICENSES.txt'), 'utf8')
    for (const name of ['commander', '@clack/prompts', '@clack/core', 'openapi-fetch', 'sisteransi']) {
      expect(licenses).toMatch(new RegExp(`^${name} [\\d.]+ \\(MIT\\)$`, 'm'))
    }
  })

  it('of svc has each file that the guide for operators names', async () => {
    const packed = path.join(folder, 'packed/svc')
    const guide = await readFile(path.join(packed, 'docs/operating.md'), 'utf8')
    const named = [...guide.matchAll(/`((?:docs|prisma|spec)\/[\w./-]+)`/g)].map(([, file = '']) => file)
    expect(named).toContain('spec/released/CHANGELOG.md')
    for (const file of named) await expect(access(path.join(packed, file))).resolves.toBeUndefined()
  })

  it('has each file that its pages link to', async () => {
    const packed = path.join(folder, 'packed')
    const pages = (await readdir(packed, { recursive: true })).filter((file) => file.endsWith('.md'))
    expect(pages).toEqual(expect.arrayContaining(['svc/README.md', 'svc/docs/clients.md', 'client/README.md']))
    for (const page of pages) {
      const content = await readFile(path.join(packed, page), 'utf8')
      const links = [...content.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link = '']) => link)
      const files = links.map((link) => path.join(packed, page, '..', link))
      expect(files.filter((file) => !existsSync(file))).toEqual([])
    }
  })

  it('of svc installs the versions that were tested, which its list of packages names', async () => {
    const read = async (file: string) => JSON.parse(await readFile(file, 'utf8')) as unknown
    const tested = (await read(path.join(ROOT, 'package-lock.json'))) as Lock
    const installed = (await read(path.join(folder, 'svc/node_modules/.package-lock.json'))) as Lock
    const { metadata, components } = (await read(path.join(folder, 'packed/svc/sbom.json'))) as BillOfMaterials
    expect(metadata.component.name).toBe('svc')
    const listed = components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`)

    const isWanted = (at: string) => /^node_modules\/(?!node(-|$))(@[^/]+\/)?[^/]+$/.test(at)
    const wanted = Object.entries(tested.packages).filter(([at, locked]) => !isDevelopment(locked) && isWanted(at))
    expect(wanted.length).toBeGreaterThan(100)
    for (const [at, { version }] of wanted) {
      expect(listed).toContain(`${at.slice('node_modules/'.length)} ${version}`)
      expect([at, installed.packages[at]?.version]).toEqual([at, version])
    }
  })

  it('is no TypeScript but declarations', async () => {
    for (const name of ['svc', 'client', 'cli']) {
      const files = await readdir(path.join(folder, 'packed', name), { recursive: true })
      expect(files.filter((file) => /(?<!\.d)\.ts$/.test(file))).toEqual([])
    }
  })
})
