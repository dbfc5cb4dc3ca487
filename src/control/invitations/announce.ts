import type { RateLimit } from '../../http/rate-limit.ts'
import type { Notify } from '../notify.ts'
import type { ListedInvitation } from './store.ts'

/**
 * Tells an invited person by email, in the background. Returns whether an email is on its way: not without email
 * delivery, and not to an address that got too many.
 */
export type AnnounceInvitation = (invitation: ListedInvitation, team: string, inviterId: string) => Promise<boolean>

type Needs = {
  readonly notify: Notify
  /** Whether the service can send email. */
  readonly hasEmail: boolean
  /** Emails to one address. */
  readonly mails: RateLimit
  readonly findEmail: (accountId: string) => Promise<string>
}

export function makeAnnounceInvitation({ notify, hasEmail, mails, findEmail }: Needs): AnnounceInvitation {
  return async ({ email, role }, team, inviterId) => {
    if (!hasEmail || (await mails.tryTake(email)) > 0) return false
    notify.invited(email, { team, role, invitedBy: await findEmail(inviterId) })
    return true
  }
}
