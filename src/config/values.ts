import { join } from 'node:path'
import type { AllowedHosts } from '../kernel/network/allowed-hosts.ts'
import type { EncryptionKey } from '../kernel/credentials/cipher.ts'
import type { ReadSecret } from '../kernel/credentials/secret-source.ts'
import { HOUR_MS } from '../kernel/durations.ts'
import { isLoopback } from '../kernel/network/ip-address.ts'
import type { OutboundProxy } from '../kernel/network/outbound-proxy.ts'
import { Secret } from '../kernel/secret.ts'
import type { TracedBackends } from '../kernel/tracer.ts'
import type { LogLevel } from '../log.ts'
import { isSocketPath } from './fields.ts'
import { makeDatabaseUrlReader } from './secrets.ts'
import type { Settings } from './settings.ts'
import type { TracingConfig } from './tracing.ts'

/** What a process serves. */
export type ServiceRole = 'all' | 'control-plane' | 'gateway'

/** `click`: a person approves by a button. `code`: the person also types the code that the device shows. */
export type ApprovalMode = 'click' | 'code'

export type DatabaseConfig =
  | { readonly kind: 'embedded'; readonly directory: string }
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'postgres'
      readonly url: Secret
      /** Reads the URL for a new connection, where a file has it. */
      readonly readUrl?: () => Secret
    }

export type MailConfig =
  | { readonly kind: 'smtp'; readonly url: Secret; readonly from: string }
  | { readonly kind: 'outbox'; readonly directory: string; readonly from: string }

export type UpstreamConfig = { readonly url: URL; readonly bearer: Secret | null; readonly apiKey: Secret | null }

export type EngineConfig = {
  readonly url: URL
  readonly apiKey: Secret | null
  /** The upper bound of every token limit of a call. */
  readonly maxTokens: number
  readonly idleTimeoutMs: number
}

/** All settings in the form in which the service uses them. What is not configured is `null`. */
export type Config = {
  readonly role: ServiceRole
  readonly host: string
  readonly port: number
  /** The control plane's public address, without a slash at the end. */
  readonly baseUrl: string
  /** The gateway's public address, without a slash at the end. */
  readonly gatewayUrl: string
  /** The packed command that people download; null: the one that the package of the service contains. */
  readonly commandFile: string | null
  readonly database: DatabaseConfig | null
  readonly directoryFile: string | null
  /** How long audit events are kept; null: always. */
  readonly auditDays: number | null
  /** The prices of models in USD; null: only the directory file has prices. */
  readonly pricesFile: string | null
  /** The hosts that backends of teams' admins may have; null: admins may add none. */
  readonly adminBackendHosts: AllowedHosts | null
  /** What encrypts credentials in the database, the first one, and decrypts them; null: none is set. */
  readonly encryptionKeys: readonly [EncryptionKey, ...EncryptionKey[]] | null
  readonly mail: MailConfig | null
  readonly login: {
    readonly loginSeconds: number
    readonly pollIntervalSeconds: number
    readonly approvalMode: ApprovalMode
    /** Whether the start response carries the token that approves the login, which is for development only. */
    readonly devLinks: boolean
  }
  readonly tokens: {
    readonly accessTokenSeconds: number
    readonly refreshIdleDays: number
    readonly refreshAbsoluteDays: number
    readonly refreshReplaySeconds: number
  }
  /** The domain of passkeys (WebAuthn's RP ID). */
  readonly rpId: string
  /** The limits of signing in, for ten minutes; 0 is off. Of unknown credentials, `startsPerIp` is for one minute. */
  readonly signInLimits: { readonly startsPerIp: number; readonly mailsPerAddress: number; readonly userCodes: number }
  /** The limits of model calls, for one client address and for one account; 0 is off. */
  readonly callLimits: {
    readonly requestsPerMinute: number
    readonly streams: number
    readonly accountRequestsPerMinute: number
    readonly accountStreams: number
  }
  /** Where a gateway without a database gets the keys that verify tokens, and the file that it keeps them in. */
  readonly verification: {
    readonly controlPlaneUrl: string
    readonly keysFile: string
    /** How long an expired token is good for local backends while the control plane does not answer. */
    readonly offlineGraceMs: number
  }
  /**
   * After a signal to stop: how long `/readyz` says 503 before the listener closes, and how long calls may then take.
   */
  readonly stop: { readonly drainSeconds: number; readonly stopSeconds: number }
  /** How many processes serve the port. */
  readonly processes: number
  /** The Unix socket at which operators' commands reach the running service; null: there is none. */
  readonly managementSocket: string | null
  /** The port of the metrics listener; null when it is off. */
  readonly metricsPort: number | null
  /** Traces (OpenTelemetry); null when they are off. */
  readonly tracing: TracingConfig | null
  /** The backends that are sent the `traceparent` of a call. */
  readonly tracedBackends: TracedBackends
  /** Counts limits for all processes together; null when each process counts for itself. */
  readonly redisUrl: Secret | null
  /** Where usage events wait while the database cannot be reached; null: in memory. */
  readonly spoolDirectory: string | null
  readonly upstreams: {
    readonly vendora: UpstreamConfig | null
    readonly vendorb: UpstreamConfig | null
    readonly vendorc: UpstreamConfig | null
  }
  /** Reads the credentials of the backends that the directory file lists. */
  readonly readSecret: ReadSecret
  /** Whether systemd waits to be told that the service is ready (`Type=notify`). */
  readonly hasNotifySocket: boolean
  readonly upstreamConnectTimeoutMs: number
  readonly upstreamIdleTimeoutMs: number
  /** The proxy for calls to backends with an https address; null: these are called directly. */
  readonly outboundProxy: OutboundProxy | null
  readonly engine: EngineConfig | null
  readonly maxBodyBytes: number
  /** Of all bodies that one process holds; null: a part of the memory. */
  readonly maxBodiesBytes: number | null
  readonly trustProxy: string | undefined
  readonly allowedOrigins: readonly string[]
  readonly logLevel: LogLevel
}

/** What the environment has besides the settings of this service. */
type OtherEnvironment = Pick<Config, 'readSecret' | 'tracing' | 'outboundProxy' | 'hasNotifySocket'> & {
  /** SVC_DATABASE_URL_FILE. */
  readonly databaseUrlFile: string | null
}

/** Turns validated settings into the values that the service uses, with their defaults. */
export function toConfig(s: Settings, { databaseUrlFile, ...otherEnvironment }: OtherEnvironment): Config {
  const baseUrl = s.SVC_BASE_URL ?? `http://localhost:${s.SVC_PORT}`
  const mail = toMail(s, baseUrl)
  const databaseUrl = s.SVC_DATABASE_URL ?? (s.SVC_ROLE === 'gateway' ? 'none' : 'embedded:.data/db')
  const database = toDatabase(databaseUrl, databaseUrlFile)
  return {
    ...otherEnvironment,
    role: s.SVC_ROLE,
    host: s.SVC_HOST,
    port: s.SVC_PORT,
    baseUrl,
    gatewayUrl: s.SVC_GATEWAY_URL ?? baseUrl,
    commandFile: s.SVC_COMMAND_FILE ?? null,
    database,
    directoryFile: s.SVC_DIRECTORY_FILE ?? null,
    auditDays: s.SVC_AUDIT_DAYS ?? null,
    pricesFile: s.SVC_PRICES_FILE ?? null,
    adminBackendHosts: s.SVC_ADMIN_BACKEND_HOSTS ?? null,
    encryptionKeys: s.SVC_SECRET_KEY ?? null,
    mail,
    login: {
      loginSeconds: s.SVC_LOGIN_SECONDS,
      pollIntervalSeconds: s.SVC_POLL_INTERVAL_SECONDS,
      approvalMode: s.SVC_APPROVAL_MODE,
      devLinks: s.SVC_DEV_LINKS || isDevelopment(mail, s.SVC_HOST, baseUrl),
    },
    tokens: {
      accessTokenSeconds: s.SVC_ACCESS_TOKEN_SECONDS,
      refreshIdleDays: s.SVC_REFRESH_IDLE_DAYS,
      refreshAbsoluteDays: s.SVC_REFRESH_ABSOLUTE_DAYS,
      refreshReplaySeconds: s.SVC_REFRESH_REPLAY_SECONDS,
    },
    rpId: s.SVC_RP_ID ?? new URL(baseUrl).hostname,
    signInLimits: {
      startsPerIp: s.SVC_LIMIT_STARTS_PER_IP,
      mailsPerAddress: s.SVC_LIMIT_MAILS_PER_ADDRESS,
      userCodes: s.SVC_LIMIT_USER_CODES,
    },
    callLimits: toCallLimits(s),
    verification: toVerification(s, baseUrl),
    stop: { drainSeconds: s.SVC_DRAIN_SECONDS, stopSeconds: s.SVC_STOP_SECONDS },
    processes: s.SVC_PROCESSES,
    managementSocket: s.SVC_MANAGEMENT_SOCKET ?? defaultSocket(database),
    metricsPort: s.SVC_METRICS_PORT ?? null,
    tracedBackends: s.SVC_TRACE_BACKENDS,
    redisUrl: s.SVC_REDIS_URL ? new Secret(s.SVC_REDIS_URL) : null,
    spoolDirectory: s.SVC_SPOOL_DIR ?? null,
    upstreams: toUpstreams(s),
    upstreamConnectTimeoutMs: s.SVC_UPSTREAM_CONNECT_TIMEOUT_SECONDS * 1000,
    upstreamIdleTimeoutMs: s.SVC_UPSTREAM_IDLE_TIMEOUT_SECONDS * 1000,
    engine: toEngine(s),
    maxBodyBytes: s.SVC_MAX_BODY_BYTES,
    maxBodiesBytes: s.SVC_MAX_BODIES_BYTES ?? null,
    trustProxy: s.SVC_TRUST_PROXY,
    allowedOrigins: s.SVC_ALLOWED_ORIGINS ?? [],
    logLevel: s.SVC_LOG_LEVEL,
  }
}

function toCallLimits(s: Settings): Config['callLimits'] {
  return {
    requestsPerMinute: s.SVC_LIMIT_REQUESTS_PER_MINUTE,
    streams: s.SVC_LIMIT_STREAMS,
    accountRequestsPerMinute: s.SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE,
    accountStreams: s.SVC_LIMIT_ACCOUNT_STREAMS,
  }
}

function toVerification(s: Settings, baseUrl: string): Config['verification'] {
  return {
    controlPlaneUrl: s.SVC_CONTROL_PLANE_URL ?? baseUrl,
    keysFile: s.SVC_GATEWAY_KEYS_FILE,
    offlineGraceMs: s.SVC_OFFLINE_GRACE_HOURS * HOUR_MS,
  }
}

function toDatabase(url: string, file: string | null): DatabaseConfig | null {
  if (url === 'none') return null
  if (url === 'memory:') return { kind: 'memory' }
  if (url.startsWith('embedded:')) return { kind: 'embedded', directory: url.slice('embedded:'.length) }
  return { kind: 'postgres', url: new Secret(url), ...(file !== null && { readUrl: makeDatabaseUrlReader(url, file) }) }
}

/** In the directory of an embedded database, which only its owner can enter. */
function defaultSocket(database: DatabaseConfig | null): string | null {
  const path = database?.kind === 'embedded' ? join(database.directory, 'management.sock') : null
  return path !== null && isSocketPath(path) ? path : null
}

function toMail(s: Settings, baseUrl: string): MailConfig | null {
  if (!s.SVC_MAIL_URL) return null
  const from = s.SVC_MAIL_FROM ?? `svc@${new URL(baseUrl).hostname}`
  return s.SVC_MAIL_URL.startsWith('outbox:')
    ? { kind: 'outbox', directory: s.SVC_MAIL_URL.slice('outbox:'.length), from }
    : { kind: 'smtp', url: new Secret(s.SVC_MAIL_URL), from }
}

/** Whether this is a developer's own machine: email goes to an outbox, and no other machine can reach the service. */
function isDevelopment(mail: MailConfig | null, host: string, baseUrl: string): boolean {
  return mail?.kind === 'outbox' && isLoopback(host) && isLoopback(new URL(baseUrl).hostname)
}

function toUpstreams(s: Settings): Config['upstreams'] {
  const shared = s.SVC_UPSTREAM_BEARER_TOKEN
  return {
    vendora: toUpstream(s.SVC_VENDORA_UPSTREAM_URL, s.SVC_VENDORA_UPSTREAM_BEARER_TOKEN ?? shared),
    vendorb: toUpstream(
      s.SVC_VENDORB_UPSTREAM_URL,
      s.SVC_VENDORB_UPSTREAM_BEARER_TOKEN ?? shared,
      s.SVC_VENDORB_UPSTREAM_API_KEY,
    ),
    vendorc: toUpstream(s.SVC_VENDORC_UPSTREAM_URL, s.SVC_VENDORC_UPSTREAM_BEARER_TOKEN ?? shared),
  }
}

function toUpstream(url: URL | undefined, bearer: Secret | undefined, apiKey?: Secret): UpstreamConfig | null {
  return url ? { url, bearer: bearer ?? null, apiKey: apiKey ?? null } : null
}

function toEngine(s: Settings): EngineConfig | null {
  if (!s.SVC_LOCAL_ENGINE_URL) return null
  return {
    url: s.SVC_LOCAL_ENGINE_URL,
    apiKey: s.SVC_LOCAL_ENGINE_API_KEY ?? null,
    maxTokens: s.SVC_LOCAL_ENGINE_MAX_TOKENS,
    idleTimeoutMs: s.SVC_LOCAL_ENGINE_IDLE_TIMEOUT_SECONDS * 1000,
  }
}
