/**
 * A passkey signs an account in without a mail. It is made and used in ceremonies of two requests: `start` gives a challenge, the browser's
 * authenticator signs it, `finish` checks that (WebAuthn Level 3, section 7). A challenge counts once, for its own kind of ceremony.
 */
import { addSeconds } from '../../kernel/clock.ts'

/** An account cannot have more. */
export const MOST_PASSKEYS = 10

/** How long an authenticator may take, and how long its challenge lives (WebAuthn, section 15.1). */
export const CHALLENGE_SECONDS = 300

/** How old a sign-in may be to change who can sign in. */
const FRESH_SECONDS = 15 * 60

/** Whether the person proved who they are a short while ago, in this session. */
export function isFresh({ authenticatedAt }: { readonly authenticatedAt: Date | null }, now: Date): boolean {
  return authenticatedAt !== null && now <= addSeconds(authenticatedAt, FRESH_SECONDS)
}

/** What a challenge was given out for. */
export type Challenge = {
  readonly ceremony: 'registration' | 'authentication'
  readonly accountId: string | null
  readonly sessionId: string | null
  readonly email: string | null
  readonly expiresAt: Date
}

/** Whether a challenge may register a passkey for this caller: only in the session that asked for it. */
export function mayRegister(
  challenge: Challenge,
  caller: { readonly accountId: string; readonly sessionId: string },
  now: Date,
): boolean {
  return (
    challenge.ceremony === 'registration' &&
    challenge.accountId === caller.accountId &&
    challenge.sessionId === caller.sessionId &&
    now < challenge.expiresAt
  )
}

/** A passkey that signed a challenge, and whose it is. */
type Owner = { readonly email: string; readonly userHandle: string }

/** Whether a challenge may sign this owner in: the address that was named at either end, if any, is theirs. */
export function maySignIn(
  challenge: Challenge,
  owner: Owner,
  said: { readonly email: string | null; readonly userHandle: string | null },
  now: Date,
): boolean {
  const names = [challenge.email, said.email].filter((email) => email !== null)
  return (
    challenge.ceremony === 'authentication' &&
    now < challenge.expiresAt &&
    names.every((email) => email === owner.email) &&
    said.userHandle === owner.userHandle
  )
}

/**
 * Whether a counter stood still or went back, which says that there is a copy of the authenticator. Synced passkeys have no counter and
 * always say 0 (WebAuthn, section 6.1.1).
 */
export function isCounterRegression(stored: bigint, reported: number): boolean {
  return (stored > 0n || reported > 0) && BigInt(reported) <= stored
}
