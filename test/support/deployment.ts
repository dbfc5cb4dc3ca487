import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { StartedDeviceLogin, TokenSet } from '../../generated/sdk/index.js'
import type { Secret } from '../../src/kernel/secret.ts'
import { freePort } from './loopback.ts'
import { mailToken, openMailbox } from './mailbox.ts'
import type { Mailbox } from './mailbox.ts'
import { startPostgres } from './postgres.ts'
import type { TestPostgres } from './postgres.ts'
import { newFolder, startProcess } from './process.ts'
import type { Ended, TestProcess } from './process.ts'
import { startRedis } from './redis.ts'
import type { TestRedis } from './redis.ts'
import { bearerOf, expectJson, expectOk, json } from './requests.ts'
import { startTcpProxy } from './network/tcp-proxy.ts'
import type { TcpProxy } from './network/tcp-proxy.ts'
import { startUpstream } from './upstream.ts'
import type { TestUpstream } from './upstream.ts'

/** A process of a role, at a port that stays the same over restarts. */
export type Instance = {
  /** Where requests go that bypass the proxy. */
  readonly origin: string
  /** The process that runs now, or that ran last. */
  readonly process: TestProcess
  /** Starts a new process after the last one has ended. */
  start(): Promise<void>
  /** Stops the process with SIGTERM and starts a new one; resolves with the output of the old one. */
  restart(): Promise<Ended>
}

/**
 * A whole deployment of real processes: control planes and gateways on one Postgres and, if asked for, one Redis, each
 * role behind a TCP proxy.
 */
export type Deployment = AsyncDisposable & {
  readonly controlPlanes: readonly Instance[]
  readonly gateways: readonly Instance[]
  /** The proxy in front of the control planes. Its origin is SVC_BASE_URL. */
  readonly controlProxy: TcpProxy
  /** The proxy in front of the gateways. Its origin is SVC_GATEWAY_URL. */
  readonly gatewayProxy: TcpProxy
  readonly postgres: TestPostgres
  /** The proxy between all processes and Postgres, to delay or cut their connections. */
  readonly postgresProxy: TcpProxy
  /** The database, without the proxy. */
  readonly databaseUrl: Secret
  /** Null without `redis: true`. */
  readonly redis: TestRedis | null
  readonly mailbox: Mailbox
  /** The upstream `vendora`. */
  readonly upstream: TestUpstream
  /** The folder in which a gateway keeps events while Postgres is gone. */
  spoolOf(gateway: number): string
  /** Signs a person in through the proxy of the control planes. */
  signIn(email: string, deviceId?: string): Promise<TokenSet>
  /** A model call through the proxy of the gateways. */
  call(accessToken: string, body?: object, init?: RequestInit): Promise<Response>
}

type Environment = Readonly<Record<string, string>>

type Given = {
  readonly controlPlanes?: number
  readonly gateways?: number
  /** Starts a Redis server for the limits; see `hasRedis`. */
  readonly redis?: boolean
  /** The directory file. */
  readonly directory: string
  /** Settings of all processes, besides those that this function sets. */
  readonly env?: Environment
  /** Settings of the single gateways, in their order; each has a spool directory unless this is given. */
  readonly gatewayEnvs?: readonly Environment[]
}

/** Starts a deployment and waits until all its processes listen. Disposal kills all processes and removes all files. */
export async function startDeployment({
  controlPlanes: controlPlaneCount = 2,
  gateways: gatewayCount = 2,
  redis: withRedis = false,
  directory,
  env = {},
  gatewayEnvs,
}: Given): Promise<Deployment> {
  await using started = new AsyncDisposableStack()
  const folder = started.use(await newFolder())
  const mailbox = started.use(await openMailbox())
  const upstream = started.use(await startUpstream())
  const postgres = started.use(await startPostgres())
  const redis = withRedis ? started.use(await startRedis()) : null
  const databaseUrl = await postgres.newDatabase()
  const postgresProxy = started.use(await startTcpProxy([Number(new URL(databaseUrl.reveal()).port)]))
  const [controlPorts, gatewayPorts] = [await freePorts(controlPlaneCount), await freePorts(gatewayCount)]
  const controlProxy = started.use(await startTcpProxy(controlPorts))
  const gatewayProxy = started.use(await startTcpProxy(gatewayPorts))

  const directoryFile = path.join(folder.path, 'directory.yaml')
  await writeFile(directoryFile, directory)
  const settings = {
    SVC_BASE_URL: controlProxy.origin.replace('127.0.0.1', 'localhost'),
    SVC_GATEWAY_URL: gatewayProxy.origin,
    SVC_DATABASE_URL: Object.assign(new URL(databaseUrl.reveal()), { port: String(postgresProxy.port) }).href,
    SVC_MAIL_URL: mailbox.url,
    SVC_VENDORA_UPSTREAM_URL: upstream.url.href,
    // No limits, because all requests come from one address; tests of the limits set them.
    SVC_LIMIT_STARTS_PER_IP: '0',
    SVC_LIMIT_MAILS_PER_ADDRESS: '0',
    ...(redis && { SVC_REDIS_URL: redis.url }),
    ...env,
  }
  const startRole = async (role: string, ports: readonly number[], settingsOf: (index: number) => Environment) => {
    const instances: Instance[] = []
    // One after another, so that a start that fails leaves no process behind.
    for (const [index, port] of ports.entries()) {
      const own = { ...settingsOf(index), SVC_ROLE: role, SVC_PORT: String(port) }
      instances.push(await startInstance({ ...settings, ...own }, started))
    }
    return instances
  }
  const spoolOf = (gateway: number) => path.join(folder.path, `spool-${gateway}`)
  const controlPlanes = await startRole('control-plane', controlPorts, () => ({ SVC_DIRECTORY_FILE: directoryFile }))
  const gateways = await startRole(
    'gateway',
    gatewayPorts,
    (index) => gatewayEnvs?.[index] ?? { SVC_SPOOL_DIR: spoolOf(index) },
  )

  const post = (pathname: string, body: object) => fetch(controlProxy.origin + pathname, json(body))
  const owned = started.move()
  return {
    controlPlanes,
    gateways,
    controlProxy,
    gatewayProxy,
    postgres,
    postgresProxy,
    databaseUrl,
    redis,
    mailbox,
    upstream,
    spoolOf,
    async signIn(email, deviceId = 'laptop-1') {
      const start = post('/v1/auth/device/start', { email, deviceId })
      const { deviceCode } = await expectJson<StartedDeviceLogin>('The start of the login', start)
      await expectOk('The approval', post('/v1/auth/magic/consume', { token: mailToken(mailbox.newest(email)) }))
      return expectJson<TokenSet>('The poll', post('/v1/auth/device/poll', { deviceCode }))
    },
    call(accessToken, body = {}, init = {}) {
      const request = json(
        { model: 'vendora/large', messages: [{ role: 'user', content: 'Hi' }], ...body },
        bearerOf(accessToken),
      )
      return fetch(`${gatewayProxy.origin}/v1/chat/completions`, { ...request, ...init })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Starts a process that is killed when `started` is disposed. */
async function startInstance(env: Environment, started: AsyncDisposableStack): Promise<Instance> {
  let current = await startProcess(env)
  started.defer(async () => void (await current.kill()))
  const start = async () => {
    current = await startProcess(env)
  }
  return {
    origin: current.origin,
    get process() {
      return current
    },
    start,
    async restart() {
      const ended = await current.stop()
      await start()
      return ended
    },
  }
}

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) ports.push(await freePort())
  return ports
}
