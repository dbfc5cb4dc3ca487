import type { FindEmail } from '../../directory/memberships.ts'
import { tryTakeAll } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Logger } from '../../log.ts'
import type { Notify } from '../mails/notify.ts'
import type { TeamActor } from '../team-access.ts'
import type { ListedInvitation } from './store.ts'

/**
 * Tells an invited person by email, in the background. Returns whether an email is on its way: not without email
 * delivery, and not when the address got too many, or the team sent too many. Never rejects, because the invitation is
 * saved already.
 */
export type AnnounceInvitation = (
  invitation: ListedInvitation,
  inviter: Pick<TeamActor, 'team' | 'accountId'>,
) => Promise<boolean>

/** Limits of emails: to one address, and for invitations to one team. */
export type InvitationMails = { readonly ofAddress: RateLimit; readonly ofTeam: RateLimit }

type Needs = {
  readonly notify: Pick<Notify, 'hasEmail' | 'invited'>
  readonly mails: InvitationMails
  readonly findEmail: FindEmail
  readonly log: Pick<Logger, 'warn'>
}

/** Makes the function that counts the emails and sends them. */
export function makeAnnounceInvitation({ notify, mails, findEmail, log }: Needs): AnnounceInvitation {
  const announce: AnnounceInvitation = async ({ email, role }, { team, accountId }) => {
    const counters = [
      { limit: mails.ofAddress, key: email },
      { limit: mails.ofTeam, key: team },
    ]
    if ((await tryTakeAll(counters)) > 0) return false
    notify.invited(email, { team, role, invitedBy: await findEmail(accountId) })
    return true
  }

  return async (invitation, inviter) => {
    if (!notify.hasEmail) return false
    return announce(invitation, inviter).catch((err: unknown) => {
      log.warn({ err, invitationId: invitation.id }, 'invitation.notice_failed')
      return false
    })
  }
}
