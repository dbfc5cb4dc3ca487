/**
 * A login has two links. The link of the email approves it and signs its browser in. The link of the start response
 * (the handle) only identifies the login, because everybody who starts a login has it: it approves for a caller who is
 * signed in to the same account. Opening a link changes nothing; only a POST decides, and each link decides once.
 *
 *     open --(POST approve)--> used
 *       \--(POST deny, or the login was denied or cancelled, or its invitation withdrawn)--> ended
 *        \--(time)--> expired
 *
 * A link stays open when the login was approved in another way: the link of the email still signs its browser in.
 */
import type { DeviceLogin } from '../device-login/rules.ts'

/** The two links of a login: of the email, and of the start response. */
export type LinkKind = 'mail' | 'handle'

export type LinkVerdict = 'open' | 'used' | 'ended' | 'expired'

/** Decides whether a link can still decide its login. A link that was used is `used`, also after its time. */
export function judgeLink(
  login: Pick<DeviceLogin, 'status' | 'expiresAt' | 'invited'> & { readonly usedAt: Date | null },
  now: Date,
): LinkVerdict {
  if (login.usedAt) return 'used'
  if (login.status === 'denied' || login.status === 'cancelled' || !login.invited) return 'ended'
  return now >= login.expiresAt ? 'expired' : 'open'
}

/** A link that is used again within this time is a double click or a reload. */
const DOUBLE_CLICK_MS = 60_000

/** Whether the link approved its login a moment ago, so that the second answer need not alarm the person. */
export function isDoubleClick(
  login: Pick<DeviceLogin, 'status'> & { readonly usedAt: Date | null },
  now: Date,
): boolean {
  return (
    login.status === 'approved' && login.usedAt !== null && now.getTime() - login.usedAt.getTime() < DOUBLE_CLICK_MS
  )
}
