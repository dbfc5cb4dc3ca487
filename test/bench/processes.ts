/** The processes that the measurements run beside each other. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../src/sdk/index.ts'

export type Server = {
  readonly name: string
  readonly pid: number
  readonly origin: string
  /** The credential of a caller. */
  readonly headers: Record<string, string>
}

export type Processes = {
  /** Starts a script of this project. */
  start(script: string, args?: readonly string[], env?: Record<string, string>): ChildProcess
  /** The service with everything on, in front of the upstream at this port; the bounds of its limits are out of the way, the limits are not. */
  startService(port: number, upstreamPort: number): Promise<Server>
  /** Waits until somebody answers there. */
  up(url: string): Promise<void>
  /** Ends all of them. */
  close(): void
}

const root = path.join(import.meta.dirname, '../..')

export function openProcesses(): Processes {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  const children: ChildProcess[] = []
  const processes: Processes = {
    start(script, args = [], env = {}) {
      const child = spawn(process.execPath, [path.join(root, script), ...args], {
        cwd: root,
        env: { ...process.env, ...env },
        stdio: ['ignore', 'ignore', 'inherit'],
      })
      children.push(child)
      return child
    },
    async startService(port, upstreamPort) {
      const { pid } = processes.start('src/main.ts', ['serve'], settings(port, upstreamPort, folder))
      const origin = `http://127.0.0.1:${port}`
      await processes.up(`${origin}/healthz`)
      return { name: 'svc', pid: pid ?? 0, origin, headers: { authorization: `Bearer ${await signIn(origin)}` } }
    },
    async up(url) {
      for (let tried = 0; tried < 300; tried += 1) {
        if (await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => null)) return
        await sleep(100)
      }
      throw new Error(`${url} does not answer.`)
    },
    close() {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return processes
}

function settings(port: number, upstreamPort: number, folder: string): Record<string, string> {
  return {
    SVC_PORT: String(port),
    SVC_DATABASE_URL: 'memory:',
    SVC_DIRECTORY_FILE: path.join(root, 'prisma/example-directory.yaml'),
    SVC_MAIL_URL: `outbox:${folder}`,
    SVC_VENDORA_UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}`,
    SVC_LIMIT_REQUESTS_PER_MINUTE: '10000000',
    SVC_LIMIT_STREAMS: '100000',
  }
}

async function signIn(origin: string): Promise<string> {
  const client = createClient({ baseUrl: origin })
  const started = await client.POST('/v1/auth/device/start', { body: { email: 'ada@example.com', deviceId: 'bench' } })
  const token = new URL(started.data?.verificationUri ?? '').searchParams.get('token') ?? ''
  await client.POST('/v1/auth/magic/consume', { body: { token } })
  const polled = await client.POST('/v1/auth/device/poll', { body: { deviceCode: started.data?.deviceCode ?? '' } })
  return polled.data?.accessToken ?? ''
}

/** The memory that a process has in use. Linux only. */
export function rssKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}
