/**
 * A passkey signs an account in without an email. It is registered and used in ceremonies of two requests: `start`
 * gives a challenge, the browser's authenticator signs it, and `finish` verifies the signature (WebAuthn Level 3,
 * section 7). A challenge is valid once, and only for its own kind of ceremony.
 *
 *     registration:   start (fresh sign-in) --> challenge --finish (same session)--> passkey
 *     authentication: start (no sign-in)    --> challenge --finish (known passkey)--> device session
 *     passkey --(rename)--> passkey --(remove, fresh sign-in)--> deleted
 */

/** How many passkeys an account can have. */
export const MAX_PASSKEYS = 10

/** How long an authenticator may take, and how long its challenge lives (WebAuthn, section 15.1). */
export const CHALLENGE_SECONDS = 300

/** A challenge, with the request that it was made for. */
export type Challenge = {
  readonly ceremony: 'registration' | 'authentication'
  readonly accountId: string | null
  readonly sessionId: string | null
  readonly email: string | null
  readonly expiresAt: Date
}

/** Whether a challenge may register a passkey for this caller: only in the session that requested it. */
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

/** The account that a passkey belongs to. */
type Owner = { readonly email: string; readonly userHandle: string }

/** What the browser claims: the address that the person typed, and the user handle of the authenticator. */
type Claim = { readonly email: string | null; readonly userHandle: string | null }

/**
 * Whether a challenge may sign this owner in: an address that was named at the start or at the end must be the owner's.
 */
export function maySignIn(challenge: Challenge, owner: Owner, claim: Claim, now: Date): boolean {
  const emails = [challenge.email, claim.email].filter((email) => email !== null)
  return (
    challenge.ceremony === 'authentication' &&
    now < challenge.expiresAt &&
    emails.every((email) => email === owner.email) &&
    claim.userHandle === owner.userHandle
  )
}

/**
 * Whether a counter did not increase, which is a sign of a copied authenticator. Synced passkeys have no counter and
 * always report 0 (WebAuthn, section 6.1.1).
 */
export function isCounterRegression(stored: bigint, reported: number): boolean {
  return (stored > 0n || reported > 0) && BigInt(reported) <= stored
}
