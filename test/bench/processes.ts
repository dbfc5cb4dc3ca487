/** Starts and stops the processes of a measurement: services, references and the upstream. */
import { spawn } from 'node:child_process'
import type { ChildProcess, StdioOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, unwrap } from '../../src/sdk/index.ts'
import { nginxArguments } from './nginx.ts'

export type Server = {
  readonly name: string
  readonly pid: number
  readonly origin: string
  /** The headers of a call, with its credential. */
  readonly headers: Record<string, string>
  /** Stops the server and starts it again. */
  restart(): Promise<Start>
}

/** How a server has started: the time from its start to its first answer, and its memory two seconds later. */
export type Start = { readonly ms: number; readonly residentMb: number }

/**
 * The memory of a process after a garbage collection, in bytes. `external` includes `arrayBuffers` and the embedded
 * database with its files in memory.
 */
export type Memory = Readonly<Record<'rss' | 'heapUsed' | 'external' | 'arrayBuffers', number>>

/** A service whose memory and log can be read. */
export type WatchedServer = Server & {
  memory(): Promise<Memory>
  /** The error lines of its log, without the errors of the upstream. */
  errors(): string[]
}

export type Processes = {
  /** Starts a script of this project. */
  start(script: string, args?: readonly string[]): ChildProcess
  /**
   * Starts the service of a tree (default: this one) as it runs in production: with an embedded database on disk,
   * metrics and limits. The limits are high enough to never be reached. `more`: further settings.
   */
  startService(port: number, upstreamPort: number, tree?: string, more?: Record<string, string>): Promise<Server>
  /** Starts a gateway without a database, for the callers of the given service. */
  startGateway(port: number, upstreamPort: number, service: Server, given?: GatewayOptions): Promise<Server>
  /** Starts a script that only proxies to the upstream. */
  startReference(name: string, script: string, port: number, upstreamPort: number): Promise<Server>
  startNginx(port: number, upstreamPort: number): Promise<Server>
  /** Starts the service with more settings, so that its memory and log can be read. */
  startWatchedService(port: number, upstreamPort: number, more: Record<string, string>): Promise<WatchedServer>
  /** Waits until a server answers at the URL. */
  up(url: string): Promise<void>
  /** Stops all processes and removes their files. */
  close(): void
}

type GatewayOptions = {
  readonly tree?: string
  /** How many processes share its port; default 1. */
  readonly count?: number
}

/** The tree that this file is in. */
export const ROOT = path.join(import.meta.dirname, '../..')

type Given = {
  readonly env?: Record<string, string>
  readonly stdio?: StdioOptions
  readonly tree?: string | undefined
}

export function openProcesses(): Processes {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
  const newFolder = () => mkdtempSync(path.join(folder, 'service-'))
  const children: ChildProcess[] = []
  const run = (command: string, args: readonly string[], given: Given = {}): ChildProcess => {
    const child = spawn(command, args, {
      cwd: given.tree ?? ROOT,
      env: { ...process.env, ...given.env },
      stdio: given.stdio ?? ['ignore', 'ignore', 'inherit'],
    })
    children.push(child)
    return child
  }
  const processes: Processes = {
    start: (script, args = []) => run(process.execPath, [path.join(ROOT, script), ...args]),
    async startService(port, upstreamPort, tree, more) {
      const env = { ...settings(port, upstreamPort, newFolder()), ...more }
      return signedIn('svc', port, () => run(process.execPath, [entryOf(tree), 'serve'], { env, tree }))
    },
    async startGateway(port, upstreamPort, service, { tree, count = 1 } = {}) {
      const own = newFolder()
      const env = {
        ...settings(port, upstreamPort, own),
        SVC_PROCESSES: String(count),
        SVC_ROLE: 'gateway',
        SVC_DATABASE_URL: 'none',
        SVC_BASE_URL: `http://localhost:${new URL(service.origin).port}`,
        SVC_CONTROL_PLANE_URL: service.origin,
        SVC_GATEWAY_KEYS_FILE: path.join(own, 'keys.json'),
      }
      const start = () => run(process.execPath, [entryOf(tree), 'serve'], { env, tree })
      const server = await upAt('svc, gateway without a database', port, start)
      return Object.assign(server, { headers: service.headers })
    },
    startReference: (name, script, port, upstreamPort) =>
      upAt(name, port, () => processes.start(script, [String(port), String(upstreamPort)])),
    startNginx: (port, upstreamPort) =>
      upAt('nginx', port, () => run('nginx', nginxArguments(folder, port, upstreamPort))),
    async startWatchedService(port, upstreamPort, more) {
      const log = path.join(folder, 'log')
      const probe = ['--expose-gc', '--import', path.join(ROOT, 'test/bench/memory-probe.ts')]
      const child = run(process.execPath, [...probe, entryOf(), 'serve'], {
        env: { ...settings(port, upstreamPort, newFolder()), ...more },
        stdio: ['ignore', openSync(log, 'w'), 'inherit', 'ipc'],
      })
      return {
        ...(await signedIn('svc', port, () => child)),
        async memory() {
          child.send('memory')
          const [memory] = await once(child, 'message')
          // What memory-probe.ts sends.
          return memory as Memory
        },
        errors: () =>
          readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => /"level":[56]0/.test(line) && !/"code":"upstream_(failed|timeout)"/.test(line)),
      }
    },
    async up(url) {
      for (let tried = 0; tried < 3_000; tried += 1) {
        if (await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => null)) return
        await sleep(10)
      }
      throw new Error(`${url} does not answer.`)
    },
    close() {
      for (const child of children) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
  async function upAt(name: string, port: number, start: () => ChildProcess): Promise<Server> {
    const origin = `http://127.0.0.1:${port}`
    let child = start()
    await processes.up(`${origin}/healthz`)
    return {
      name,
      get pid() {
        return child.pid ?? 0
      },
      origin,
      headers: {},
      async restart() {
        child.kill('SIGTERM')
        await once(child, 'exit')
        const startedAt = performance.now()
        child = start()
        await processes.up(`${origin}/healthz`)
        const ms = performance.now() - startedAt
        await sleep(2_000)
        return { ms, residentMb: rssKb(child.pid ?? 0) / 1024 }
      },
    }
  }
  async function signedIn(name: string, port: number, start: () => ChildProcess): Promise<Server> {
    const server = await upAt(name, port, start)
    return Object.assign(server, { headers: { authorization: `Bearer ${await signIn(server.origin)}` } })
  }
  return processes
}

/** The script of the command `svc`. */
function entryOf(tree = ROOT): string {
  const { bin } = JSON.parse(readFileSync(path.join(tree, 'package.json'), 'utf8')) as { bin: { svc: string } }
  return bin.svc
}

function settings(port: number, upstreamPort: number, folder: string): Record<string, string> {
  return {
    // As `npm start`, the unit and the image set it.
    MALLOC_TRIM_THRESHOLD_: '131072',
    SVC_PORT: String(port),
    SVC_DATABASE_URL: `embedded:${path.join(folder, 'db')}`,
    SVC_METRICS_PORT: '0',
    SVC_DIRECTORY_FILE: writeDirectory(folder),
    SVC_MAIL_URL: `outbox:${folder}`,
    SVC_VENDORA_UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}`,
    SVC_VENDORB_UPSTREAM_URL: `http://127.0.0.1:${upstreamPort}`,
    // Longer than all series take. A server has one token for all of them.
    SVC_ACCESS_TOKEN_SECONDS: '86400',
    SVC_LIMIT_STARTS_PER_IP: '0',
    SVC_LIMIT_REQUESTS_PER_MINUTE: '10000000',
    SVC_LIMIT_STREAMS: '100000',
    SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: '10000000',
    SVC_LIMIT_ACCOUNT_STREAMS: '100000',
  }
}

/** So many that devices can sign in all the time without a member having too many of them. */
const MEMBERS = 500

/** The address of one of the members who only sign in. */
export function memberOf(number: number): string {
  return `member-${number % MEMBERS}@example.com`
}

/** Writes the directory of the measurements with all its members, and returns its path. */
function writeDirectory(folder: string): string {
  const members = Array.from({ length: MEMBERS }, (_, number) => `{ email: ${memberOf(number)} }`)
  const text = readFileSync(path.join(ROOT, 'test/bench/directory.yaml'), 'utf8')
  const file = path.join(folder, 'directory.yaml')
  writeFileSync(file, text.replace('members: [', `members: [${members.join(', ')}, `))
  return file
}

/** Signs a device in; returns its access token. With an outbox for email, the token of the start response approves. */
async function signIn(origin: string): Promise<string> {
  const client = createClient({ baseUrl: origin })
  const body = { email: 'ada@example.com', deviceId: 'bench' }
  const { verificationUri, deviceCode } = await unwrap(client.POST('/v1/auth/device/start', { body }))
  const token = new URL(verificationUri).searchParams.get('token') ?? ''
  await unwrap(client.POST('/v1/auth/magic/consume', { body: { token } }))
  const { accessToken } = await unwrap(client.POST('/v1/auth/device/poll', { body: { deviceCode } }))
  return accessToken
}

/** The resident memory of a process. Linux only. */
export function rssKb(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** The processes that a process has started and that still run. Linux only. */
export function childrenOf(pid: number): number[] {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return pids === '' ? [] : pids.split(' ').map(Number)
}
