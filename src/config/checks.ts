import { DAY_SECONDS } from '../kernel/durations.ts'
import { isLoopback } from '../kernel/network/ip-address.ts'
import { isIpAddress } from './fields.ts'
import { SECRET_SETTING_NAMES, SETTING_NAMES } from './settings.ts'
import type { Settings } from './settings.ts'
import type { Config } from './values.ts'

/**
 * The mistakes of settings that are valid one by one and contradict each other, each starting with a setting's name.
 */
export function findContradictions(config: Config, s: Settings, isProduction: boolean): string[] {
  const { role, database, mail } = config
  return [
    role !== 'gateway' &&
      database === null &&
      'SVC_DATABASE_URL: the control plane needs a database; "none" is for SVC_ROLE=gateway',
    role === 'gateway' &&
      database?.kind === 'embedded' &&
      'SVC_DATABASE_URL: an embedded database belongs to one process; a gateway needs postgresql://... or "none"',
    config.processes > 1 &&
      (database?.kind === 'embedded' || database?.kind === 'memory') &&
      'SVC_PROCESSES: an embedded database belongs to one process; several processes need postgresql://... in ' +
        'SVC_DATABASE_URL, or a gateway without a database',
    config.metricsPort === config.port &&
      config.port !== 0 &&
      'SVC_METRICS_PORT: must not be the port of SVC_PORT, because metrics have a listener of their own',
    config.adminBackendHosts !== null &&
      config.encryptionKeys === null &&
      database?.kind === 'postgres' &&
      'SVC_SECRET_KEY: must be set with SVC_ADMIN_BACKEND_HOSTS, because it encrypts the credentials of the ' +
        'backends in the database; "openssl rand -base64 32" makes one',
    isProduction &&
      s.SVC_DEV_LINKS &&
      'SVC_DEV_LINKS: must not be set with NODE_ENV=production, because it lets everyone who knows an address sign in',
    isProduction &&
      mail?.kind === 'outbox' &&
      'SVC_MAIL_URL: "outbox" sends no email and must not be used with NODE_ENV=production',
    !isRegistrable(config.rpId, new URL(config.baseUrl).hostname) &&
      'SVC_RP_ID: must be the host name of SVC_BASE_URL or a parent domain of it, because browsers refuse any other',
    s.SVC_POLL_INTERVAL_SECONDS >= s.SVC_LOGIN_SECONDS &&
      'SVC_POLL_INTERVAL_SECONDS: must be less than SVC_LOGIN_SECONDS, because a login would expire before its ' +
        'first poll',
    s.SVC_REFRESH_IDLE_DAYS > s.SVC_REFRESH_ABSOLUTE_DAYS &&
      'SVC_REFRESH_IDLE_DAYS: must not be greater than SVC_REFRESH_ABSOLUTE_DAYS',
    s.SVC_ACCESS_TOKEN_SECONDS > s.SVC_REFRESH_IDLE_DAYS * DAY_SECONDS &&
      'SVC_ACCESS_TOKEN_SECONDS: must not be longer than SVC_REFRESH_IDLE_DAYS, because a device renews its tokens ' +
        'only when they expire, and could not renew them then, however often it was used',
  ].filter((mistake) => mistake !== false)
}

/** Whether a page of this host may use passkeys of this domain (WebAuthn, section 5.1.3). */
function isRegistrable(rpId: string, hostname: string): boolean {
  return hostname === rpId || hostname.endsWith(`.${rpId}`)
}

/** Settings that are valid but that the operator should know about, one sentence or two each. */
export function findWarnings(config: Config, givenNames: readonly string[], isProduction: boolean): string[] {
  const known = new Set([...SETTING_NAMES, ...SECRET_SETTING_NAMES.map((name) => `${name}_FILE`)])
  const unknown = givenNames.filter((name) => name.startsWith('SVC_') && !known.has(name))
  return [
    ...unknown.map((name) => `${name} is not a setting of this version and has no effect.`),
    config.role !== 'gateway' &&
      isIpAddress(config.rpId) &&
      'Passkeys do not work at an IP address. Set SVC_BASE_URL to a host name; use http://localhost for development.',
    config.processes > 1 &&
      config.redisUrl === null &&
      'SVC_PROCESSES is set without SVC_REDIS_URL: each process counts limits for itself, so a caller may reach ' +
        'each limit once in every process.',
    config.role !== 'control-plane' &&
      config.database?.kind === 'postgres' &&
      config.spoolDirectory === null &&
      'SVC_SPOOL_DIR is not set: usage events that wait for the database are lost when the gateway stops meanwhile.',
    config.maxBodiesBytes !== null &&
      config.maxBodiesBytes < config.maxBodyBytes &&
      'SVC_MAX_BODIES_BYTES is less than SVC_MAX_BODY_BYTES: a call with a body of the permitted size is refused ' +
        'while any other large one runs.',
    config.database === null &&
      config.directoryFile === null &&
      'Without a database and without SVC_DIRECTORY_FILE there are no teams and no models, so every call is refused.',
    config.trustProxy === 'true' &&
      'SVC_TRUST_PROXY=true believes every client that names another address as its own, so limits by address can be ' +
        'evaded. Set the number or the addresses of your proxies.',
    isProduction &&
      config.baseUrl.startsWith('http://') &&
      !isLoopback(new URL(config.baseUrl).hostname) &&
      'SVC_BASE_URL is http://, so tokens and cookies can be read on the way. Use https:// and a TLS proxy.',
    config.role !== 'gateway' &&
      config.mail === null &&
      'SVC_MAIL_URL is not set: nobody can sign in by email. Only passkeys that exist already work.',
    isProduction &&
      config.role !== 'gateway' &&
      config.directoryFile === null &&
      'SVC_DIRECTORY_FILE is not set. Only organizations, teams and models that are already in the database exist.',
    config.mail?.kind === 'smtp' &&
      config.mail.url.reveal().startsWith('smtp+insecure:') &&
      'SVC_MAIL_URL is smtp+insecure://, so the password and the links of emails can be read on the way.',
    config.login.devLinks &&
      'The start of a device login answers with the link that approves it, so everyone who can start a login can ' +
        'approve it. Use this for development only.',
  ].filter((warning) => warning !== false)
}
