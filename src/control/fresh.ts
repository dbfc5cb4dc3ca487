import { addSeconds } from '../kernel/clock.ts'

/** How old a sign-in may be for an operation that lasts longer than the session: passkeys, API keys. */
const MAX_FRESH_SECONDS = 15 * 60

/**
 * Whether the person proved who they are within the last 15 minutes, in this session. A credential that outlives the
 * session is only given to a fresh one, so that a stolen token cannot become a permanent credential.
 */
export function isFresh({ authenticatedAt }: { readonly authenticatedAt: Date | null }, now: Date): boolean {
  return authenticatedAt !== null && now <= addSeconds(authenticatedAt, MAX_FRESH_SECONDS)
}
