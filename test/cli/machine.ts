import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable, Writable } from 'node:stream'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { peopleCommands } from '../../src/cli/commands.ts'
import { readEnvironment } from '../../src/cli/environment.ts'
import type { Environment } from '../../src/cli/environment.ts'
import type { TestService } from '../support/service.ts'

const COMMAND = path.join(import.meta.dirname, '../../src/cli/package-entry.ts')

export type Ran = { readonly status: number | null; readonly stdout: string; readonly stderr: string }

/** Keeps compiled code between the many starts of the command. vitest.config.ts sets it. */
const { NODE_COMPILE_CACHE = '' } = process.env

const WATCH_WRITES = `import { open } from 'node:fs/promises'
const opened = await open(import.meta.filename)
const FileHandle = Object.getPrototypeOf(opened)
await opened.close()
const { writeFile } = FileHandle
FileHandle.writeFile = async function (content) { CODE; return writeFile.call(this, content) }
`

type Variables = Readonly<Record<string, string>>

type Options = {
  readonly env?: Variables
  /** What it reads on standard input. */
  readonly input?: string
}

type RunOptions = Options & {
  /** Replaces parts of what it takes this machine for, such as the operating system. */
  readonly environment?: Partial<Environment>
  /** Sees what it prints, each time that it prints. */
  readonly onPrint?: (printed: string) => void | Promise<void>
}

type StartOptions = Options & {
  /** The same, with the process; its standard input stays open. */
  readonly onPrint?: (printed: string, child: ChildProcess) => void | Promise<void>
}

/** A machine of its own: a home folder with nothing in it, a PATH with nothing but its own programs. */
export type Machine = AsyncDisposable & {
  readonly home: string
  /** Runs `svc` with these arguments, in this process: a process for each command would cost a tenth of a second. */
  svc(args: readonly string[], options?: RunOptions): Promise<Ran>
  /** The same in a process of its own, for tests of what the process does: signals, programs that it starts, its end. */
  start(args: readonly string[], options?: StartOptions): Promise<Ran>
  /** Signs in to a service as an invited person, and approves by email. */
  signIn(service: TestService, email?: string): Promise<Ran>
  /** Puts a program on PATH: JavaScript, run by this Node.js. */
  install(name: string, code: string): Promise<void>
  /** Writes a module that runs this code whenever the process writes `content` into a file. Returns its path. */
  watchWrites(code: string): Promise<string>
  /** Makes the stored access token look as if it had been stored so long ago. */
  age(service: TestService, seconds: number): Promise<void>
  /** Copies what is stored of a service to another address, where its gateway is too unless `gatewayUrl` is given. */
  moveProfile(service: TestService, url: string, gatewayUrl?: string): Promise<void>
  /** Has this machine believe that the gateway of a service is at another address. */
  moveGateway(service: TestService, gatewayUrl: string): Promise<void>
  /** The path of the tokens of a service. */
  tokensOf(service: TestService): string
}

/** A new machine, or one whose home is a copy of another's: it shares the sign-in of that one. */
export async function newMachine(like?: Machine): Promise<Machine> {
  const home = await mkdtemp(path.join(tmpdir(), 'svc-home-'))
  const bin = path.join(home, 'bin')
  if (like) await cp(like.home, home, { recursive: true })
  else await mkdir(bin)

  const variables = { HOME: home, PATH: path.join(home, 'bin') }
  const svc: Machine['svc'] = (args, { env, ...options } = {}) =>
    runHere(args, { ...options, home, env: { ...variables, ...env } })
  const start: Machine['start'] = (args, { env, ...options } = {}) =>
    runProcess(args, { ...options, home, env: { ...variables, NODE_COMPILE_CACHE, ...env } })
  const tokensOf = ({ config }: TestService) =>
    path.join(home, '.config/svc/deployments', encodeURIComponent(config.baseUrl), 'tokens.json')
  return {
    home,
    svc,
    start,
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
    async watchWrites(code) {
      const module = path.join(home, 'watch-writes.mjs')
      await writeFile(module, WATCH_WRITES.replace('CODE', code))
      return module
    },
    async moveProfile(service, url, gatewayUrl = url) {
      const from = path.dirname(tokensOf(service))
      const to = path.join(path.dirname(from), encodeURIComponent(url))
      await cp(from, to, { recursive: true })
      const profile = JSON.parse(await readFile(path.join(to, 'profile.json'), 'utf8')) as object
      await writeFile(path.join(to, 'profile.json'), JSON.stringify({ ...profile, url, gatewayUrl }))
    },
    async moveGateway(service, gatewayUrl) {
      const file = path.join(path.dirname(tokensOf(service)), 'profile.json')
      const profile = JSON.parse(await readFile(file, 'utf8')) as object
      await writeFile(file, JSON.stringify({ ...profile, gatewayUrl }))
    },
    async age(service, seconds) {
      const file = tokensOf(service)
      const tokens = JSON.parse(await readFile(file, 'utf8')) as { savedAt: string }
      const savedAt = new Date(Date.parse(tokens.savedAt) - seconds * 1000).toISOString()
      await writeFile(file, JSON.stringify({ ...tokens, savedAt }))
    },
    // A command that has failed may still have another request under way, which writes its tokens.
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
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

type Place = { readonly home: string; readonly env: Variables }

async function runHere(
  args: readonly string[],
  { home, env, input, onPrint, environment }: RunOptions & Place,
): Promise<Ran> {
  const printed = { stdout: '', stderr: '' }
  const failed = Promise.withResolvers<never>()
  const collect = (name: keyof typeof printed) =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, done) {
        printed[name] += text
        if (name === 'stdout') Promise.resolve(onPrint?.(text)).catch(failed.reject)
        done()
      },
    })
  const running = runCommandLine(peopleCommands, {
    args,
    environment: { ...readEnvironment(env, home, COMMAND), ...environment },
    stdin: Readable.from(input === undefined ? [] : [input]),
    stdout: collect('stdout'),
    stderr: collect('stderr'),
  })
  const status = await Promise.race([running, failed.promise])
  return { status, ...printed }
}

/** Starts the command with an environment that has nothing of this process. */
function runProcess(args: readonly string[], { home, env, input, onPrint }: StartOptions & Place): Promise<Ran> {
  const stdin = input === undefined && !onPrint ? 'ignore' : 'pipe'
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: home, env, stdio: [stdin, 'pipe', 'pipe'] })
  if (input !== undefined) child.stdin?.end(input)
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
