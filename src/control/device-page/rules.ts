/**
 * The device page of a signed-in person: it approves or denies a waiting device by its user code, and shows the
 * account's devices and passkeys. A user code identifies a login and grants nothing by itself: only the login's own
 * account can decide by it, and a code of another account is as unknown as one that does not exist.
 *
 *     open --(approve)--> approved
 *       |  \--(deny)--> denied
 *       \--(time)--> expired
 *     not_found: no login of this account has the code, or it was cancelled, or its invitation withdrawn
 */
import type { DeviceLogin } from '../device-login/rules.ts'

export type CodeVerdict = 'open' | 'approved' | 'denied' | 'expired' | 'not_found'

/** Decides what a person sees who enters the user code of this login. */
export function judgeCode(login: Pick<DeviceLogin, 'status' | 'expiresAt' | 'invited'>, now: Date): CodeVerdict {
  if (login.status === 'cancelled' || !login.invited) return 'not_found'
  if (login.status !== 'pending') return login.status
  return now >= login.expiresAt ? 'expired' : 'open'
}
