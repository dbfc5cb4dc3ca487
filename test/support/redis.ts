import { spawn, spawnSync } from 'node:child_process'
import { createConnection, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A real Redis server of this suite's own. */
export type TestRedis = AsyncDisposable & { readonly url: string; stop(): Promise<void>; restart(): Promise<void> }

/** Whether this machine has one to start. */
export const hasRedis = spawnSync('redis-server', ['--version']).status === 0

/** Starts a server on a free port; it keeps nothing. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort()
  let stopRunning = await run(port)
  const stop = () => stopRunning()
  return {
    url: `redis://127.0.0.1:${port}`,
    stop,
    async restart() {
      stopRunning = await run(port)
    },
    [Symbol.asyncDispose]: stop,
  }
}

async function run(port: number): Promise<() => Promise<void>> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn('redis-server', args, { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`redis-server ended with ${child.exitCode}.`)
    await sleep(20)
  }
  return () => {
    child.kill('SIGKILL')
    return ended
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
