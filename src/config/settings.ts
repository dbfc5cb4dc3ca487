import { z } from 'zod'
import * as field from './fields.ts'

const { flag, httpUrl, publicUrl, secret, text, upstreamUrl, wholeNumber } = field

const SERVER = {
  SVC_ROLE: z.enum(['all', 'control-plane', 'gateway']).default('all'),
  SVC_HOST: text.default('127.0.0.1'),
  SVC_PORT: wholeNumber(0, 65_535).default(8787),
  SVC_BASE_URL: field.pagesUrl.optional(),
  SVC_GATEWAY_URL: publicUrl.optional(),
  SVC_COMMAND_FILE: text.optional(),
  SVC_TRUST_PROXY: field.trustProxy.optional(),
  SVC_ALLOWED_ORIGINS: field.origins.optional(),
  SVC_DRAIN_SECONDS: wholeNumber(0, 3600).default(0),
  SVC_STOP_SECONDS: wholeNumber(0, 3600).default(25),
  SVC_PROCESSES: wholeNumber(1, 64).default(1),
  SVC_MANAGEMENT_SOCKET: field.socketPath.optional(),
  SVC_METRICS_PORT: wholeNumber(0, 65_535).optional(),
  SVC_TRACE_BACKENDS: z.enum(['local', 'all', 'none']).default('local'),
  SVC_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
}

const STORES = {
  SVC_DATABASE_URL: field.databaseUrl.optional(),
  SVC_REDIS_URL: field.redisUrl.optional(),
  SVC_SPOOL_DIR: text.optional(),
  SVC_DIRECTORY_FILE: text.optional(),
  SVC_AUDIT_DAYS: wholeNumber(1, 36_500).optional(),
  SVC_PRICES_FILE: text.optional(),
  SVC_ADMIN_BACKEND_HOSTS: field.allowedHosts.optional(),
  SVC_SECRET_KEY: field.encryptionKeys.optional(),
}

const LOGIN = {
  SVC_MAIL_URL: field.mailUrl.optional(),
  SVC_MAIL_FROM: field.emailAddress.optional(),
  SVC_DEV_LINKS: flag.default(false),
  SVC_APPROVAL_MODE: z.enum(['click', 'code']).default('click'),
  SVC_RP_ID: field.domainName.optional(),
  SVC_LOGIN_SECONDS: wholeNumber(10, 600).default(600),
  SVC_POLL_INTERVAL_SECONDS: wholeNumber(1, 60).default(5),
  SVC_ACCESS_TOKEN_SECONDS: wholeNumber(1, 315_360_000).default(900),
  SVC_REFRESH_IDLE_DAYS: wholeNumber(1, 3650).default(30),
  SVC_REFRESH_ABSOLUTE_DAYS: wholeNumber(1, 3650).default(90),
  SVC_REFRESH_REPLAY_SECONDS: wholeNumber(0, 600).default(30),
  SVC_LIMIT_STARTS_PER_IP: wholeNumber(0, 1_000_000).default(60),
  SVC_LIMIT_MAILS_PER_ADDRESS: wholeNumber(0, 1_000_000).default(5),
  SVC_LIMIT_USER_CODES: wholeNumber(0, 1_000_000).default(5),
}

const CALLS = {
  SVC_VENDORA_UPSTREAM_URL: upstreamUrl.optional(),
  SVC_VENDORB_UPSTREAM_URL: upstreamUrl.optional(),
  SVC_VENDORC_UPSTREAM_URL: upstreamUrl.optional(),
  SVC_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORA_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORB_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORC_UPSTREAM_BEARER_TOKEN: secret.optional(),
  SVC_VENDORB_UPSTREAM_API_KEY: secret.optional(),
  SVC_UPSTREAM_CONNECT_TIMEOUT_SECONDS: wholeNumber(1, 600).default(10),
  SVC_UPSTREAM_IDLE_TIMEOUT_SECONDS: wholeNumber(1, 86_400).default(300),
  SVC_LOCAL_ENGINE_URL: httpUrl.optional(),
  SVC_LOCAL_ENGINE_API_KEY: secret.optional(),
  SVC_LOCAL_ENGINE_MAX_TOKENS: wholeNumber(1, 100_000_000).default(4096),
  SVC_LOCAL_ENGINE_IDLE_TIMEOUT_SECONDS: wholeNumber(1, 86_400).default(600),
  SVC_LIMIT_REQUESTS_PER_MINUTE: wholeNumber(0, 100_000_000).default(6000),
  SVC_LIMIT_STREAMS: wholeNumber(0, 100_000_000).default(640),
  SVC_LIMIT_ACCOUNT_REQUESTS_PER_MINUTE: wholeNumber(0, 100_000_000).default(600),
  SVC_LIMIT_ACCOUNT_STREAMS: wholeNumber(0, 100_000_000).default(64),
  SVC_MAX_BODY_BYTES: wholeNumber(1024, 1_073_741_824).default(33_554_432),
  SVC_MAX_BODIES_BYTES: wholeNumber(1024, 1_099_511_627_776).optional(),
  SVC_CONTROL_PLANE_URL: publicUrl.optional(),
  SVC_GATEWAY_KEYS_FILE: text.default('.data/gateway-keys.json'),
  SVC_OFFLINE_GRACE_HOURS: wholeNumber(0, 8760).default(0),
}

/** Every setting with its form and default. */
export const SETTINGS = z.object({ ...SERVER, ...STORES, ...LOGIN, ...CALLS })

export type Settings = z.output<typeof SETTINGS>

/** The names of all settings. */
export const SETTING_NAMES: readonly string[] = Object.keys(SETTINGS.shape)

/** The settings that hold a secret. Each can also be given as NAME_FILE, the path of a file that contains the value. */
export const SECRET_SETTING_NAMES: readonly string[] = Object.entries(SETTINGS.shape)
  .filter(([, type]) => field.holdsSecret(type))
  .map(([name]) => name)
