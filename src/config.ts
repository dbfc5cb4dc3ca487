import { isIP } from 'node:net'
import { z } from 'zod'
import { Secret } from './kernel/secret.ts'
import type { LogLevel } from './log.ts'

/** What a process serves. */
export type ServiceRole = 'all' | 'control-plane' | 'gateway'

export type DatabaseConfig =
  | { readonly kind: 'embedded'; readonly directory: string }
  | { readonly kind: 'memory' }
  | { readonly kind: 'postgres'; readonly url: Secret }

export type MailConfig =
  | { readonly kind: 'smtp'; readonly url: Secret; readonly from: string }
  | { readonly kind: 'outbox'; readonly directory: string; readonly from: string }

export type UpstreamConfig = { readonly url: URL; readonly bearer: Secret | null; readonly apiKey: Secret | null }

export type EngineConfig = {
  readonly url: URL
  readonly apiKey: Secret | null
  /** What every token limit is clamped to. */
  readonly maxTokens: number
  readonly idleTimeoutMs: number
}

/** Everything that an operator sets. What is not configured is `null`. */
export type Config = {
  readonly role: ServiceRole
  readonly host: string
  readonly port: number
  /** The control plane's public address, without a slash at the end. */
  readonly baseUrl: string
  /** The gateway's public address, without a slash at the end. */
  readonly gatewayUrl: string
  readonly database: DatabaseConfig | null
  readonly directoryFile: string | null
  readonly mail: MailConfig | null
  readonly login: {
    readonly loginSeconds: number
    readonly pollIntervalSeconds: number
    readonly approvalMode: 'click' | 'code'
    /** The start response carries the token that approves: only for development. */
    readonly devLinks: boolean
  }
  readonly tokens: {
    readonly accessTokenSeconds: number
    readonly refreshIdleDays: number
    readonly refreshAbsoluteDays: number
    readonly refreshReplaySeconds: number
  }
  /** The domain that passkeys are for. */
  readonly rpId: string
  /** Within ten minutes; 0 is off. */
  readonly limits: { readonly startsPerIp: number; readonly mailsPerAddress: number; readonly userCodes: number }
  /** Of model calls, for one address of the network; 0 is off. */
  readonly callLimits: { readonly requestsPerMinute: number; readonly streams: number }
  /** Where a gateway without a database gets the keys that verify tokens, and the file in which it keeps them. */
  readonly verification: { readonly controlPlaneUrl: string; readonly keysFile: string }
  /** Of the listener for metrics; null: there is none. */
  readonly metricsPort: number | null
  /** Counts limits for several processes together; null: each for itself. */
  readonly redisUrl: Secret | null
  readonly upstreams: {
    readonly vendora: UpstreamConfig | null
    readonly vendorb: UpstreamConfig | null
    readonly vendorc: UpstreamConfig | null
  }
  readonly upstreamConnectTimeoutMs: number
  readonly upstreamIdleTimeoutMs: number
  readonly engine: EngineConfig | null
  readonly maxBodyBytes: number
  readonly trustProxy: string | undefined
  readonly allowedOrigins: readonly string[]
  readonly logLevel: LogLevel
}

/** All mistakes of the settings at once, each naming its setting. */
export class ConfigError extends Error {
  readonly mistakes: readonly string[]

  constructor(mistakes: readonly string[]) {
    super(`The settings have mistakes:\n${mistakes.map((mistake) => `  ${mistake}`).join('\n')}`)
    this.name = 'ConfigError'
    this.mistakes = mistakes
  }
}

type Environment = Readonly<Record<string, string | undefined>>

const text = z.string().trim().min(1)
const secret = text.transform((value) => new Secret(value))
const seconds = whole(1, 315_360_000)
const httpUrl = z
  .string()
  .refine(
    (value) => URL.canParse(value) && /^https?:$/.test(new URL(value).protocol),
    'must be an http:// or https:// URL',
  )
  .refine((value) => !URL.canParse(value) || !new URL(value).search, 'must not have a query')
  .transform((value) => new URL(value))
const publicUrl = httpUrl
  .refine((url) => !(url.username || url.password || url.hash), 'must be an address without credentials and fragment')
  .transform((url) => url.href.replace(/\/+$/, ''))
const flag = z.enum(['0', '1']).transform((value) => value === '1')

function whole(least: number, most: number) {
  return z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((value) => value >= least && value <= most, `must be between ${least} and ${most}`)
}

const SETTINGS = z.object({
  SVC_ROLE: z.enum(['all', 'control-plane', 'gateway']).default('all'),
  SVC_HOST: text.default('127.0.0.1'),
  SVC_PORT: whole(0, 65_535).default(8787),
  SVC_BASE_URL: publicUrl.optional(),
  SVC_GATEWAY_URL: publicUrl.optional(),
  SVC_DATABASE_URL: text
    .refine(isDatabaseUrl, 'must be postgresql://..., embedded:DIRECTORY, memory: or none')
    .optional(),
  SVC_DIRECTORY_FILE: text.optional(),
  SVC_MAIL_URL: text.refine(isMailUrl, 'must be smtp://HOST:PORT, smtps://HOST:PORT or outbox:DIRECTORY').optional(),
  SVC_MAIL_FROM: text.regex(/^[^\s@<>"',]+@[^\s@<>"',]+$/, 'must be one e-mail address').optional(),
  SVC_DEV_LINKS: flag.default(false),
  SVC_APPROVAL_MODE: z.enum(['click', 'code']).default('click'),
  SVC_VENDORA_UPSTREAM_URL: httpUrl.optional(),
  SVC_VENDORB_UPSTREAM_URL: httpUrl.optional(),
  SVC_VENDORC_UPSTREAM_URL: httpUrl.optional(),
  SVC_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORA_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORB_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORC_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORB_UPSTREAM_API_KEY: secret.optional(),
  SVC_UPSTREAM_CONNECT_TIMEOUT_SECONDS: whole(1, 600).default(10),
  SVC_UPSTREAM_IDLE_TIMEOUT_SECONDS: whole(1, 86_400).default(300),
  SVC_LOCAL_ENGINE_URL: httpUrl.optional(),
  SVC_LOCAL_ENGINE_API_KEY: secret.optional(),
  SVC_LOCAL_ENGINE_MAX_TOKENS: whole(1, 100_000_000).default(4096),
  SVC_LOCAL_ENGINE_IDLE_TIMEOUT_SECONDS: whole(1, 86_400).default(600),
  SVC_LIMIT_STARTS_PER_IP: whole(0, 1_000_000).default(60),
  SVC_LIMIT_MAILS_PER_ADDRESS: whole(0, 1_000_000).default(5),
  SVC_LIMIT_USER_CODES: whole(0, 1_000_000).default(5),
  SVC_LIMIT_REQUESTS_PER_MINUTE: whole(0, 100_000_000).default(600),
  SVC_LIMIT_STREAMS: whole(0, 100_000_000).default(64),
  SVC_CONTROL_PLANE_URL: publicUrl.optional(),
  SVC_GATEWAY_KEYS_FILE: text.default('.data/gateway-keys.json'),
  SVC_METRICS_PORT: whole(0, 65_535).optional(),
  SVC_REDIS_URL: text.refine(isRedisUrl, 'must be redis://HOST:PORT or rediss://HOST:PORT').optional(),
  SVC_RP_ID: text.regex(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, 'must be a domain name in lower case').optional(),
  SVC_TRUST_PROXY: text.optional(),
  SVC_MAX_BODY_BYTES: whole(1024, 1_073_741_824).default(33_554_432),
  SVC_LOGIN_SECONDS: whole(10, 600).default(600),
  SVC_POLL_INTERVAL_SECONDS: whole(1, 60).default(5),
  SVC_ACCESS_TOKEN_SECONDS: seconds.default(900),
  SVC_REFRESH_IDLE_DAYS: whole(1, 3650).default(30),
  SVC_REFRESH_ABSOLUTE_DAYS: whole(1, 3650).default(90),
  SVC_REFRESH_REPLAY_SECONDS: whole(0, 600).default(30),
  SVC_ALLOWED_ORIGINS: text
    .transform((value) => value.split(',').map((origin) => origin.trim()))
    .refine(
      (origins) => origins.every(isOrigin),
      'must be origins such as https://app.example.com, separated by commas',
    )
    .optional(),
  SVC_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
})

type Settings = z.output<typeof SETTINGS>

/** The names of all settings, for the documentation test. */
export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS.shape)

/** Reads every setting; `defaults` fill in for those that the environment leaves out. Throws a `ConfigError` with all mistakes together; values are never repeated, they may be secrets. */
export function readConfig(env: Environment = process.env, defaults: Environment = {}): Config {
  const given = Object.fromEntries(
    Object.entries({ ...defaults, ...env }).filter(([name, value]) => name.startsWith('SVC_') && value !== ''),
  )
  const isProduction = env['NODE_ENV'] === 'production'
  const read = SETTINGS.safeParse(given)
  if (!read.success) throw new ConfigError(mistakesIn(given, read.error, isProduction))

  const config = toConfig(read.data)
  const mistakes = contradictions(config, read.data, isProduction)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return config
}

/** What is wrong with single settings, and how the others contradict each other as far as that can be told without these. */
function mistakesIn(given: Environment, { issues }: z.ZodError, isProduction: boolean): string[] {
  const wrong = new Set(issues.map(({ path: [name] }) => String(name)))
  const others = SETTINGS.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !wrong.has(name))))
  const between = contradictions(toConfig(others), others, isProduction)
  return [
    ...issues.map((issue) => `${issue.path.join('.')}: ${plainly(issue)}`),
    ...between.filter((mistake) => ![...wrong].some((name) => mistake.includes(name))),
  ]
}

/** What an operator should know at start, although it is no mistake. */
export function warningsOf(config: Config, env: Environment = process.env): string[] {
  const unknown = Object.keys(env).filter((name) => name.startsWith('SVC_') && !SETTING_NAMES.includes(name))
  return [
    ...unknown.map((name) => `${name} is not a setting of this version; it has no effect.`),
    ...(config.role !== 'gateway' && isIpAddress(config.rpId)
      ? [
          'Passkeys do not work at an IP address. Set SVC_BASE_URL to a host name; http://localhost will do for development.',
        ]
      : []),
    ...(config.database === null && config.directoryFile === null
      ? ['Without a database only SVC_DIRECTORY_FILE says which teams and models there are: nobody can call anything.']
      : []),
    ...(config.login.devLinks
      ? [
          'The start of a device login answers with the link that approves it: whoever can start a login can approve it. For development only.',
        ]
      : []),
  ]
}

/** Whether an address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

function toConfig(s: Settings): Config {
  const baseUrl = s.SVC_BASE_URL ?? `http://localhost:${s.SVC_PORT}`
  const mail = toMail(s, baseUrl)
  return {
    role: s.SVC_ROLE,
    host: s.SVC_HOST,
    port: s.SVC_PORT,
    baseUrl,
    gatewayUrl: s.SVC_GATEWAY_URL ?? baseUrl,
    database: toDatabase(s.SVC_DATABASE_URL ?? (s.SVC_ROLE === 'gateway' ? 'none' : 'embedded:.data/db')),
    directoryFile: s.SVC_DIRECTORY_FILE ?? null,
    mail,
    login: {
      loginSeconds: s.SVC_LOGIN_SECONDS,
      pollIntervalSeconds: s.SVC_POLL_INTERVAL_SECONDS,
      approvalMode: s.SVC_APPROVAL_MODE,
      devLinks:
        s.SVC_DEV_LINKS || (mail?.kind === 'outbox' && isLoopback(s.SVC_HOST) && isLoopback(new URL(baseUrl).hostname)),
    },
    tokens: {
      accessTokenSeconds: s.SVC_ACCESS_TOKEN_SECONDS,
      refreshIdleDays: s.SVC_REFRESH_IDLE_DAYS,
      refreshAbsoluteDays: s.SVC_REFRESH_ABSOLUTE_DAYS,
      refreshReplaySeconds: s.SVC_REFRESH_REPLAY_SECONDS,
    },
    rpId: s.SVC_RP_ID ?? new URL(baseUrl).hostname,
    limits: {
      startsPerIp: s.SVC_LIMIT_STARTS_PER_IP,
      mailsPerAddress: s.SVC_LIMIT_MAILS_PER_ADDRESS,
      userCodes: s.SVC_LIMIT_USER_CODES,
    },
    callLimits: { requestsPerMinute: s.SVC_LIMIT_REQUESTS_PER_MINUTE, streams: s.SVC_LIMIT_STREAMS },
    verification: { controlPlaneUrl: s.SVC_CONTROL_PLANE_URL ?? baseUrl, keysFile: s.SVC_GATEWAY_KEYS_FILE },
    metricsPort: s.SVC_METRICS_PORT ?? null,
    redisUrl: s.SVC_REDIS_URL ? new Secret(s.SVC_REDIS_URL) : null,
    upstreams: {
      vendora: toUpstream(
        s.SVC_VENDORA_UPSTREAM_URL,
        s.SVC_VENDORA_UPSTREAM_BEARER_TOKEN ?? s.SVC_UPSTREAM_BEARER_TOKEN,
      ),
      vendorb: toUpstream(
        s.SVC_VENDORB_UPSTREAM_URL,
        s.SVC_VENDORB_UPSTREAM_BEARER_TOKEN ?? s.SVC_UPSTREAM_BEARER_TOKEN,
        s.SVC_VENDORB_UPSTREAM_API_KEY,
      ),
      vendorc: toUpstream(
        s.SVC_VENDORC_UPSTREAM_URL,
        s.SVC_VENDORC_UPSTREAM_BEARER_TOKEN ?? s.SVC_UPSTREAM_BEARER_TOKEN,
      ),
    },
    upstreamConnectTimeoutMs: s.SVC_UPSTREAM_CONNECT_TIMEOUT_SECONDS * 1000,
    upstreamIdleTimeoutMs: s.SVC_UPSTREAM_IDLE_TIMEOUT_SECONDS * 1000,
    engine: s.SVC_LOCAL_ENGINE_URL
      ? {
          url: s.SVC_LOCAL_ENGINE_URL,
          apiKey: s.SVC_LOCAL_ENGINE_API_KEY ?? null,
          maxTokens: s.SVC_LOCAL_ENGINE_MAX_TOKENS,
          idleTimeoutMs: s.SVC_LOCAL_ENGINE_IDLE_TIMEOUT_SECONDS * 1000,
        }
      : null,
    maxBodyBytes: s.SVC_MAX_BODY_BYTES,
    trustProxy: s.SVC_TRUST_PROXY,
    allowedOrigins: s.SVC_ALLOWED_ORIGINS ?? [],
    logLevel: s.SVC_LOG_LEVEL,
  }
}

/** Settings that are right one by one and wrong together. */
function contradictions(config: Config, s: Settings, production: boolean): string[] {
  return [
    config.role !== 'gateway' &&
      config.database === null &&
      'SVC_DATABASE_URL: the control plane needs a database; "none" is for SVC_ROLE=gateway',
    config.role === 'gateway' &&
      config.database?.kind === 'embedded' &&
      'SVC_DATABASE_URL: an embedded database belongs to one process; a gateway shares a postgresql:// one or takes "none"',
    production &&
      s.SVC_DEV_LINKS &&
      'SVC_DEV_LINKS: must not be set with NODE_ENV=production: it lets anybody who knows an address sign in',
    production &&
      config.mail?.kind === 'outbox' &&
      'SVC_MAIL_URL: "outbox" sends nothing and must not be used with NODE_ENV=production',
    !isRegistrable(config.rpId, new URL(config.baseUrl).hostname) &&
      'SVC_RP_ID: must be the host name of SVC_BASE_URL or a domain above it; browsers refuse any other',
    s.SVC_REFRESH_IDLE_DAYS > s.SVC_REFRESH_ABSOLUTE_DAYS &&
      'SVC_REFRESH_IDLE_DAYS: must not be more than SVC_REFRESH_ABSOLUTE_DAYS',
  ].filter((mistake) => mistake !== false)
}

function toDatabase(url: string): DatabaseConfig | null {
  if (url === 'none') return null
  if (url === 'memory:') return { kind: 'memory' }
  if (url.startsWith('embedded:')) return { kind: 'embedded', directory: url.slice('embedded:'.length) }
  return { kind: 'postgres', url: new Secret(url) }
}

function isDatabaseUrl(url: string): boolean {
  if (url === 'none' || url === 'memory:') return true
  if (url.startsWith('embedded:')) return url.length > 'embedded:'.length
  return /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)
}

function toMail(s: Settings, baseUrl: string): MailConfig | null {
  if (!s.SVC_MAIL_URL) return null
  const from = s.SVC_MAIL_FROM ?? `svc@${new URL(baseUrl).hostname}`
  return s.SVC_MAIL_URL.startsWith('outbox:')
    ? { kind: 'outbox', directory: s.SVC_MAIL_URL.slice('outbox:'.length), from }
    : { kind: 'smtp', url: new Secret(s.SVC_MAIL_URL), from }
}

function isMailUrl(url: string): boolean {
  if (url.startsWith('outbox:')) return url.length > 'outbox:'.length
  return /^smtps?:\/\//.test(url) && URL.canParse(url) && new URL(url).hostname !== ''
}

function isRedisUrl(url: string): boolean {
  return /^rediss?:\/\//.test(url) && URL.canParse(url)
}

/** Whether a page of this host may use passkeys of this domain (WebAuthn, section 5.1.3). */
function isRegistrable(rpId: string, hostname: string): boolean {
  return hostname === rpId || hostname.endsWith(`.${rpId}`)
}

function isIpAddress(host: string): boolean {
  return isIP(host.replace(/^\[|\]$/g, '')) !== 0
}

function isOrigin(value: string): boolean {
  return URL.canParse(value) && new URL(value).origin === value && /^https?:/.test(value)
}

function toUpstream(url: URL | undefined, bearer: Secret | undefined, apiKey?: Secret): UpstreamConfig | null {
  return url ? { url, bearer: bearer ?? null, apiKey: apiKey ?? null } : null
}

/** What is wrong, without the value. */
function plainly(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  return issue.message
}
