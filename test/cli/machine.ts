import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestService } from '../support/service.ts'

const COMMAND = path.join(import.meta.dirname, '../../src/cli/people.ts')

/** Compiled code is kept between the many starts of the command. */
const COMPILE_CACHE = path.join(tmpdir(), 'svc-test-compile-cache')

export type Ran = { readonly status: number | null; readonly stdout: string; readonly stderr: string }

type RunOptions = {
  readonly env?: Readonly<Record<string, string>>
  /** What it reads; null leaves that to `onPrint`. */
  readonly input?: string | null
  /** Sees the process and what it has printed so far, each time that it prints. */
  readonly onPrint?: (printed: string, child: ChildProcess) => void | Promise<void>
}

/** A machine of its own: a home folder with nothing in it, a PATH with nothing but its own programs. */
export type Machine = AsyncDisposable & {
  readonly home: string
  /** Runs `svc` with these arguments. */
  svc(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** Signs in to a service as an invited person, and approves by email. */
  signIn(service: TestService, email?: string): Promise<Ran>
  /** Puts a program on PATH: JavaScript, run by this Node.js. */
  install(name: string, code: string): Promise<void>
  /** Makes the stored access token look as if it had been stored so long ago. */
  age(service: TestService, seconds: number): Promise<void>
  /** Copies what is stored of a service to another address. */
  moveProfile(service: TestService, url: string): Promise<void>
  /** The path of the tokens of a service. */
  tokensOf(service: TestService): string
}

/** A new machine, or one whose home is a copy of another's: it shares the sign-in of that one. */
export async function newMachine(like?: Machine): Promise<Machine> {
  const home = await mkdtemp(path.join(tmpdir(), 'svc-home-'))
  const bin = path.join(home, 'bin')
  if (like) await cp(like.home, home, { recursive: true })
  else await mkdir(bin)

  const svc: Machine['svc'] = (args, options) => run([COMMAND, ...args], home, options)
  const tokensOf = ({ config }: TestService) =>
    path.join(home, '.config/svc/deployments', encodeURIComponent(config.baseUrl), 'tokens.json')
  return {
    home,
    svc,
    tokensOf,
    async signIn(service, email = 'ada@example.com') {
      const ran = await svc(['login', service.config.baseUrl, '--email', email], {
        onPrint: async (printed) => {
          if (printed.includes('Waiting for the approval')) await service.approveByMail(email)
        },
      })
      if (ran.status !== 0) throw new Error(`The login failed: ${ran.stderr}`)
      return ran
    },
    async install(name, code) {
      await writeFile(path.join(bin, name), `#!${process.execPath}\n${code}`, { mode: 0o755 })
    },
    async moveProfile(service, url) {
      const from = path.dirname(tokensOf(service))
      const to = path.join(path.dirname(from), encodeURIComponent(url))
      await cp(from, to, { recursive: true })
      const profile = JSON.parse(await readFile(path.join(to, 'profile.json'), 'utf8')) as object
      await writeFile(path.join(to, 'profile.json'), JSON.stringify({ ...profile, url, gatewayUrl: url }))
    },
    async age(service, seconds) {
      const file = tokensOf(service)
      const tokens = JSON.parse(await readFile(file, 'utf8')) as { savedAt: string }
      const savedAt = new Date(Date.parse(tokens.savedAt) - seconds * 1000).toISOString()
      await writeFile(file, JSON.stringify({ ...tokens, savedAt }))
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true }),
  }
}

/** A port of this machine at which nothing listens. */
export async function closedPort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Runs a program of Node.js with an environment that has nothing of this process. */
function run(args: readonly string[], home: string, { env = {}, input, onPrint }: RunOptions = {}): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    cwd: home,
    env: { HOME: home, PATH: path.join(home, 'bin'), NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  if (input !== null) child.stdin?.end(input)
  const printed = { stdout: '', stderr: '' }
  return new Promise((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      printed.stdout += text
      Promise.resolve(onPrint?.(text, child)).catch(reject)
    })
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (printed.stderr += text))
    child.once('error', reject)
    child.once('close', (status) => resolve({ status, ...printed }))
  })
}
