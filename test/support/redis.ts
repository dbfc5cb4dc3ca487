import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { COMMAND_TIMEOUT_MS } from '../../src/server/redis.ts'
import { canConnect, freePort } from './loopback.ts'
import { holdTimeouts } from './network/held-timeouts.ts'
import { waitUntil } from './wait.ts'

/** A real Redis server that only this test uses. */
export type TestRedis = AsyncDisposable & {
  /** For SVC_REDIS_URL. */
  readonly url: string
  readonly port: number
  /** Ends it with SIGKILL, so that connections are refused until `restart`. */
  stop(): Promise<void>
  /** Starts it again on the same port, empty. */
  restart(): Promise<void>
  /** Stops it with SIGSTOP: connections stay open and answer nothing until `thaw`. */
  freeze(): void
  thaw(): void
}

/** Whether `redis-server` is installed on this machine. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0

/**
 * Lets commands of this process's services wait for Redis as long as they need. On a busy machine, Redis may answer
 * after the time limit of a command, and a service then counts in its own memory.
 */
export function waitForRedis(): Disposable {
  return holdTimeouts(COMMAND_TIMEOUT_MS)
}

/** Starts a server on a free port, without persistence. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort()
  let child = await run(port)
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'close')
    // SIGKILL also ends a process that is frozen.
    child.kill('SIGKILL')
    await ended
  }
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    stop,
    async restart() {
      child = await run(port)
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    [Symbol.asyncDispose]: stop,
  }
}

async function run(port: number): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  const state = await waitUntil(
    'redis-server to listen',
    async () => (child.exitCode === null ? canConnect(port) : 'ended'),
    (seen) => seen !== false,
  )
  if (state === 'ended') throw new Error(`redis-server ended with ${child.exitCode}.`)
  return child
}
