/** The processes that the measurements run beside each other. */
import { spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { nginxArguments } from './nginx.ts'
import { createClient } from '../../src/sdk/index.ts'

export type Server = {
  readonly name: string
  readonly pid: number
  readonly origin: string
  /** The credential of a caller. */
  readonly headers: Record<string, string>
}

/** Bytes that a process holds when all garbage is gone. `external` has the database and its files, as far as they are in memory, and `arrayBuffers`. */
export type Memory = Readonly<Record<'rss' | 'heapUsed' | 'external' | 'arrayBuffers', number>>

/** A service with a window. */
export type WatchedServer = Server & {
  memory(): Promise<Memory>
  /** The lines of its log that tell of errors that are not the upstream's. */
  errors(): string[]
}

export type Processes = {
  /** Starts a script of this project. */
  start(script: string, args?: readonly string[]): ChildProcess
  /**
   * The service with everything on and an embedded database on disk, as it is operated, in front of the upstream at this port. The bounds of its limits
   * are out of the way, the limits are not.
   */
  startService(port: number, upstreamPort: number): Promise<Server>
  /** A gateway without a database, for the callers of this service. */
  startGateway(port: number, upstreamPort: number, service: Server): Promise<Server>
  /** A script that proxies to the upstream and does nothing else. */
  startReference(name: string, script: string, port: number, upstreamPort: number): Promise<Server>
  startNginx(port: number, upstreamPort: number): Promise<Server>
  /** The service with a window, and a log that is kept. */
  startWatchedService(port: number, upstreamPort: number): Promise<WatchedServer>
  /** Waits until somebody answers there. */
  up(url: string): Promise<void>
  /** Ends all of them. */
  close(): void
}

const root = path.join(import.meta.dirname, '../..')

type Given = { readonly env?: Record<string, string>; readonly stdio?: StdioOptions }

export function openProcesses(): Processes {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  const children: ChildProcess[] = []
  const run = (command: string, args: readonly string[], given: Given = {}): ChildProcess => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, ...given.env },
      stdio: given.stdio ?? ['ignore', 'ignore', 'inherit'],
    })
    children.push(child)
    return child
  }
  const processes: Processes = {
    start: (script, args = []) => run(process.execPath, [path.join(root, script), ...args]),
    async startService(port, upstreamPort) {
      const child = run(process.execPath, ['src/main.ts', 'serve'], { env: settings(port, upstreamPort, folder) })
      return signedIn('svc', port, child)
    },
    async startGateway(port, upstreamPort, service) {
      const env = {
        ...settings(port, upstreamPort, folder),
        SVC_ROLE: 'gateway',
        SVC_DATABASE_URL: 'none',
        SVC_BASE_URL: `http://localhost:${new URL(service.origin).port}`,
        SVC_CONTROL_PLANE_URL: service.origin,
        SVC_GATEWAY_KEYS_FILE: path.join(folder, 'keys.json'),
      }
      const child = run(process.execPath, ['src/main.ts', 'serve'], { env })
      return { ...(await upAt('svc, gateway without a database', port, child)), headers: service.headers }
    },
    startReference: (name, script, port, upstreamPort) =>
      upAt(name, port, processes.start(script, [String(port), String(upstreamPort)])),
    startNginx: (port, upstreamPort) => upAt('nginx', port, run('nginx', nginxArguments(folder, port, upstreamPort))),
    async startWatchedService(port, upstreamPort) {
      const log = path.join(folder, 'log')
      const probe = ['--expose-gc', '--import', path.join(root, 'test/bench/memory-probe.ts')]
      const child = run(process.execPath, [...probe, 'src/main.ts', 'serve'], {
        env: settings(port, upstreamPort, folder),
        stdio: ['ignore', openSync(log, 'w'), 'inherit', 'ipc'],
      })
      return {
        ...(await signedIn('svc', port, child)),
        async memory() {
          child.send('memory')
          const [memory] = await once(child, 'message')
          return memory as Memory
        },
        errors: () =>
          readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => /"level":[56]0/.test(line) && !/"code":"upstream_(failed|timeout)"/.test(line)),
      }
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
  async function upAt(name: string, port: number, { pid = 0 }: ChildProcess): Promise<Server> {
    const origin = `http://127.0.0.1:${port}`
    await processes.up(`${origin}/healthz`)
    return { name, pid, origin, headers: {} }
  }
  async function signedIn(name: string, port: number, child: ChildProcess): Promise<Server> {
    const server = await upAt(name, port, child)
    return { ...server, headers: { authorization: `Bearer ${await signIn(server.origin)}` } }
  }
  return processes
}

function settings(port: number, upstreamPort: number, folder: string): Record<string, string> {
  return {
    SVC_PORT: String(port),
    SVC_DATABASE_URL: `embedded:${path.join(folder, 'db')}`,
    SVC_METRICS_PORT: '0',
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
