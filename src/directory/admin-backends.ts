/**
 * Backends that the admins of a team add. Only models of the same admins use them. The gateway sends requests to their
 * addresses, so the operator lists the hosts that may be named (SVC_ADMIN_BACKEND_HOSTS).
 */
import { z } from 'zod'
import type { AllowedHosts } from '../kernel/network/allowed-hosts.ts'
import type { Cipher, Encrypted } from '../kernel/credentials/cipher.ts'
import { CREDENTIAL_HEADERS } from '../kernel/credentials/credential-header.ts'
import type { CredentialHeader } from '../kernel/credentials/credential-header.ts'
import { DIALECT_NAMES } from '../kernel/dialect.ts'
import type { Dialect } from '../kernel/dialect.ts'
import { Secret } from '../kernel/secret.ts'
import { isName, prefixOfTeam } from '../kernel/team-name.ts'
import { basePath, hasOneVersion, isBackendUrl, SECOND_VERSION } from './backends.ts'
import { list, must, object, oneOf } from './fields.ts'
import { invalid, readSettings, taken } from './mistakes.ts'
import type { AdminMistake } from './mistakes.ts'

/** A backend of admins, as the database has it. */
export type AdminBackend = {
  /** `organization/team/name`. Names of the directory file have no slash. */
  readonly name: string
  readonly teamId: string
  readonly dialects: readonly Dialect[]
  readonly url: string
  /** The path of its API at the URL, such as `/v1`, without a slash at the end. Paths of calls are added to it. */
  readonly basePath: string
  /** Null: it needs none. */
  readonly credential: {
    readonly as: CredentialHeader
    readonly encrypted: Encrypted
    readonly setAt: Date
  } | null
}

/** What an admin says of a backend. */
export type AdminBackendSettings = {
  readonly dialects: readonly Dialect[]
  readonly url: string
  readonly basePath: string
  /** Undefined: as it is. Null: it needs none. */
  readonly credential?: { readonly value: Secret; readonly as: CredentialHeader } | null | undefined
}

/** The maximum number of backends that the admins of one team may add. */
export const MAX_ADMIN_BACKENDS = 20

// ---- Reading --------------------------------------------------------------------------------------------------------

/** A value that cannot be sent in a header would fail each call. */
const value = z
  .string(must('text'))
  .regex(/^[\x21-\x7e]{1,4096}$/, 'must have 1 to 4096 visible ASCII characters')
  .transform((given) => new Secret(given))

const settings = object({
  dialects: list(oneOf(DIALECT_NAMES))
    .min(1, 'must name at least one dialect')
    .transform((dialects) => [...new Set(dialects)]),
  url: z
    .string(must('text'))
    .max(500, 'must have at most 500 characters')
    .refine(
      (given) => isBackendUrl(given, ['https:']),
      'must be an https:// URL without user name, query and fragment, and without the /v1 at its end',
    )
    .transform((given) => new URL(given).href.replace(/\/+$/, '')),
  basePath,
  credential: object({ value, as: oneOf(CREDENTIAL_HEADERS).default('bearer') }).nullish(),
}).refine(hasOneVersion, SECOND_VERSION)

/** Reads what an admin says of a backend. */
export function readAdminBackend(given: unknown): { settings: AdminBackendSettings } | AdminMistake {
  return readSettings(settings, given)
}

// ---- Deciding -------------------------------------------------------------------------------------------------------

/** What a backend of a team is judged by. */
export type AdminBackendContext = {
  /** `@organization/team`. */
  readonly team: string
  readonly hosts: AllowedHosts
  /** The backends that admins of the team have added. */
  readonly existing: readonly Pick<AdminBackend, 'name' | 'url' | 'credential'>[]
}

/** What is wrong with a backend that an admin adds or changes; null: nothing. */
export function judgeAdminBackend(
  name: string,
  wanted: AdminBackendSettings,
  { team, hosts, existing }: AdminBackendContext,
): AdminMistake | null {
  const prefix = prefixOfTeam(team)
  if (!name.startsWith(prefix) || !isName(name.slice(prefix.length)))
    return invalid(
      ['name'],
      'must have 1 to 64 of a-z, 0-9, ".", "_" and "-" after the name of the team, the first one a letter or a digit.',
      `An example is ${prefix}vendor.`,
    )
  if (!hosts.allowsUrl(new URL(wanted.url)))
    return invalid(
      ['url'],
      `the operator allows these hosts only: ${hosts.names.join(', ')} (SVC_ADMIN_BACKEND_HOSTS).`,
    )
  const current = existing.find((backend) => backend.name === name)
  if (!current && existing.length >= MAX_ADMIN_BACKENDS)
    return taken([], `The team has ${MAX_ADMIN_BACKENDS} backends of its own already. Delete one first.`)
  // Otherwise an admin who does not know the credential could have it sent to a server of their choice.
  if (current?.credential && wanted.credential === undefined && originOf(current.url) !== originOf(wanted.url))
    return invalid(['credential'], 'must be given again when the host of the URL changes.', 'Null removes it.')
  return null
}

const originOf = (url: string) => new URL(url).origin

/** What an encrypted credential belongs to: it is useless in the row of another backend. */
export function contextOfCredential({ name, teamId }: Pick<AdminBackend, 'name' | 'teamId'>): string {
  return `svc backend credential ${teamId} ${name}`
}

// ---- Using ----------------------------------------------------------------------------------------------------------

/**
 * Why a backend cannot be called. `host_not_allowed`: the operator does not list its host any more.
 * `credential_unreadable`: none of the keys of this process decrypts its credential.
 */
export type AdminBackendProblem = 'host_not_allowed' | 'credential_unreadable'

/** The hosts that the operator allows, and what encrypts credentials. */
export type AdminBackendTrust = { readonly hosts: AllowedHosts; readonly cipher: Cipher }

/**
 * The credential of a backend that may be called (null: it needs none), or why it may not. `trust`: null allows no
 * backend.
 */
export function readAdminCredential(
  backend: AdminBackend,
  trust: AdminBackendTrust | null,
): { readonly secret: Secret | null } | { readonly problem: AdminBackendProblem } {
  const { url, credential } = backend
  if (!trust?.hosts.allowsUrl(new URL(url))) return { problem: 'host_not_allowed' }
  if (!credential) return { secret: null }
  const secret = trust.cipher.decrypt(credential.encrypted, contextOfCredential(backend))
  return secret ? { secret } : { problem: 'credential_unreadable' }
}
