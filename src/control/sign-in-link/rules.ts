/**
 * A sign-in link signs a browser in by email, without a device. A person types an email address on the sign-in page,
 * and the link goes to that address if it is invited. Answer and time are the same for every address. The link signs in
 * the browser that opens it, and never the one that asked for it: otherwise an attacker could ask for the link, and the
 * owner's click would sign the attacker in. Opening the link changes nothing; its page has a form that consumes it.
 *
 *     open --(POST)--> used
 *       |\--(time)--> expired
 *       \--(the invitation was withdrawn)--> ended
 *
 * A person who is signed in gets such a link too, to confirm that it is still them.
 */

/** How long a link can be used (ASVS 6.5.5: at most ten minutes). */
export const SIGN_IN_LINK_SECONDS = 600

/** The part of a link that the rules read. */
export type SignInLinkState = { readonly usedAt: Date | null; readonly expiresAt: Date; readonly invited: boolean }

export type SignInLinkVerdict = 'open' | 'used' | 'ended' | 'expired'

/** Decides whether a link can still sign a browser in. A link that was used is `used`, also after its time. */
export function judgeSignInLink({ usedAt, expiresAt, invited }: SignInLinkState, now: Date): SignInLinkVerdict {
  if (usedAt) return 'used'
  if (!invited) return 'ended'
  return now >= expiresAt ? 'expired' : 'open'
}
