import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '../..')

export type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

export type TestProcess = AsyncDisposable & {
  /** Where requests go: `http://127.0.0.1:PORT`. */
  readonly origin: string
  /** Everything that it has written so far. */
  output(): string
  /** Ends it as a power cut would, and waits until it is gone. */
  kill(): Promise<Ended>
  /** Asks it to stop, and waits until it has. */
  stop(): Promise<Ended>
}

type Environment = Readonly<Record<string, string>>

/** `svc serve` as an operator starts it, on a free port; resolves when it listens. */
export async function startProcess(env: Environment): Promise<TestProcess> {
  const started = begin(env)
  const port = await started.listening
  return {
    origin: `http://127.0.0.1:${port}`,
    output: started.output,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
    },
  }

  function end(signal: NodeJS.Signals): Promise<Ended> {
    started.child.kill(signal)
    return started.ended
  }
}

/** `svc serve` that is expected to refuse to start; what it said. Killed when it starts all the same. */
export async function refusedStart(env: Environment): Promise<Ended> {
  const started = begin(env)
  started.listening.then(
    () => started.child.kill('SIGKILL'),
    () => undefined,
  )
  return started.ended
}

/** A new empty folder. */
export async function newFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'svc-test-'))
  return { path: folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

type Started = {
  readonly child: ChildProcess
  readonly listening: Promise<number>
  readonly ended: Promise<Ended>
  output(): string
}

function begin(env: Environment): Started {
  const child = spawn(process.execPath, ['src/main.ts', 'serve'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], SVC_PORT: '0', SVC_BASE_URL: 'http://localhost:8787', ...env },
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
  void ended.then(({ code }) => listening.reject(new Error(`It ended with ${code}: ${written.stderr}`)))
  listening.promise.catch(() => undefined)
  return { child, listening: listening.promise, ended, output: () => written.stdout + written.stderr }
}
