import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { DATA_HOME } from './data-folder.ts'
import { withDeadline } from './wait.ts'

const ROOT = path.join(import.meta.dirname, '../..')

/** The first start compiles the whole service, which has taken more than a minute on a busy machine. */
const START_TIMEOUT_MS = 100_000
/** More than the service waits for requests that are under way. */
const STOP_TIMEOUT_MS = 45_000

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type TestProcess = AsyncDisposable & {
  /** Where requests go: `http://127.0.0.1:PORT`. */
  readonly origin: string
  readonly pid: number
  /** Everything that it has written so far. */
  output(): string
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void
  /** Ends it with SIGKILL, and waits until it has ended. */
  kill(): Promise<Ended>
  /** Asks it to stop with SIGTERM, and waits until it has ended. */
  stop(): Promise<Ended>
  /** Stops it with SIGSTOP: its connections stay open and answer nothing until `thaw`. */
  freeze(): void
  thaw(): void
}

type Environment = Readonly<Record<string, string>>

/**
 * The environment of `src/start.js`, without settings. It sets flags of V8, which rejects what was compiled with other
 * flags, so its compiled code is not in the folder of other programs.
 */
export const START_ENV = {
  PATH: process.env['PATH'],
  NODE_COMPILE_CACHE: path.join(ROOT, 'node_modules/.cache/svc-tests-start'),
}

/** Starts `svc serve` as an operator does, on a free port unless `SVC_PORT` is set; resolves when it listens. */
export async function startProcess(env: Environment): Promise<TestProcess> {
  const started = begin(env)
  const { child } = started
  const port = await withDeadline('svc serve to listen', started.listening, START_TIMEOUT_MS).catch(
    (error: unknown) => {
      child.kill('SIGKILL')
      throw error
    },
  )
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  const end = (name: NodeJS.Signals) => {
    // A stopped process does not see SIGTERM.
    signal('SIGCONT')
    signal(name)
    return withDeadline(`svc serve to end after ${name}`, started.ended, STOP_TIMEOUT_MS)
  }
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    output: started.output,
    signal,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
    },
  }
}

/**
 * Starts `svc serve` where it is expected to refuse; resolves with what it wrote. Kills it when it listens all the
 * same.
 */
export async function refusedStart(env: Environment): Promise<Ended> {
  const { child, listening, ended } = begin(env)
  listening.then(
    () => child.kill('SIGKILL'),
    () => undefined,
  )
  return withDeadline('svc serve to refuse to start', ended, START_TIMEOUT_MS)
}

/** Makes a new empty folder; disposal removes it. */
export async function newFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(path.join(DATA_HOME, 'svc-test-'))
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

type Started = {
  readonly child: ChildProcess
  /** The port; rejects when the process ends first. */
  readonly listening: Promise<number>
  readonly ended: Promise<Ended>
  output(): string
}

function begin(env: Environment): Started {
  const child = spawn(process.execPath, ['src/start.js', 'serve'], {
    cwd: ROOT,
    env: { ...START_ENV, SVC_PORT: '0', SVC_BASE_URL: 'http://localhost:8787', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const written = { stdout: '', stderr: '' }
  const listening = Promise.withResolvers<number>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written.stdout += text
    const port = /^.*"port":(\d+).*"service\.listening".*$/m.exec(written.stdout)?.[1]
    if (port) listening.resolve(Number(port))
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (written.stderr += text))
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...written })))
  void ended.then(({ code }) =>
    listening.reject(new Error(`svc serve ended with ${code}: ${written.stdout}${written.stderr}`)),
  )
  listening.promise.catch(() => undefined)
  return { child, listening: listening.promise, ended, output: () => written.stdout + written.stderr }
}
