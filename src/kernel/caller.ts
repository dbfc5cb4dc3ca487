import type { Secret } from './secret.ts'

/** A person's role in a team. An admin may also manage the team. */
export type Role = 'member' | 'admin'

/** What an API key adds to its caller. */
export type CallerKey = {
  readonly id: string
  /** The only models that the key may call; null: every model of the team. */
  readonly models: readonly string[] | null
  /** `service:NAME` for a key of a service account; null for a key of a person. */
  readonly serviceAccount: string | null
}

/** The authenticated origin of a request: an account, acting in one team, through one session or API key. */
export type Caller = {
  /** The account of a person, or a service account. */
  readonly accountId: string
  /** The id of a device session, of a browser session or of an API key, as `sessionKind` says. */
  readonly sessionId: string
  readonly sessionKind: 'device' | 'browser' | 'api_key'
  /** Absent when the caller sent an access token or a cookie. */
  readonly key?: CallerKey
  readonly organization: string
  /** `@organization/name`. */
  readonly team: string
  readonly role: Role
  /** When the person last authenticated in this session; null when another session approved this one. */
  readonly authenticatedAt: Date | null
  /** Its access token has expired and cannot be renewed now, so it may call local backends only. */
  readonly isOffline?: true
}

/** The author of a change: an account with its session and its last sign-in, and the IP address that it used. */
export type Actor = Pick<Caller, 'accountId' | 'sessionId' | 'sessionKind' | 'authenticatedAt'> & {
  readonly ip: string
}

/**
 * Finds the caller of a credential; null when it is not valid. Throws when it cannot be checked, for example without a
 * database.
 */
export type Identify = (credential: Secret) => Promise<Caller | null> | Caller | null

/**
 * Finds the caller of an API key that came from an IP address; null when it is not valid. Throws when it cannot be
 * checked.
 */
export type IdentifyKey = (key: Secret, ip: string) => Promise<Caller | null> | Caller | null

/** Tells this process that a device session or an API key has ended, so that its gateway refuses it at once. */
export type OnCallerEnd = (id: string) => void

/** Why an access token is refused. `revoked`: its session has ended. `unknown`: this service did not sign it. */
export type TokenProblem = 'expired' | 'revoked' | 'unknown'

/** Says why a token that identifies no caller is refused. Rejects when it cannot be checked. */
export type ExplainToken = (token: Secret) => Promise<TokenProblem>
