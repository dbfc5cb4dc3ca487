import { tooMany, tryTakeAll } from '../../http/rate-limit.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import type { Logger } from '../../log.ts'
import type { Notify } from '../mails/notify.ts'
import type { TeamActor } from '../team-access.ts'
import type { InvitationStore, ListedInvitation, NamedInvitation } from './store.ts'

type Inviter = Pick<TeamActor, 'email' | 'team'>

/**
 * Tells an invited person by email, in the background. Returns whether an email is on its way: not without email
 * delivery, and not when the address got too many, or the team sent too many. Never rejects, because the invitation is
 * saved already.
 */
export type AnnounceInvitation = (invitation: ListedInvitation, inviter: Inviter) => Promise<boolean>

/**
 * Emails an invited person again, in the background, for an admin of the team. Returns false when the team has no such
 * invitation. Throws `rate_limited` when the address got too many emails, or the team sent too many.
 */
export type ResendInvitation = (admin: TeamActor, invitation: NamedInvitation) => Promise<boolean>

/** Limits of emails: to one address, and for invitations to one team. */
export type InvitationMails = { readonly ofAddress: RateLimit; readonly ofTeam: RateLimit }

type Needs = {
  readonly invitations: Pick<InvitationStore, 'find'>
  readonly notify: Pick<Notify, 'hasEmail' | 'invited'>
  readonly mails: InvitationMails
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/**
 * Makes the functions that count the emails of invitations and send them. `resend` is null where the service cannot
 * send email.
 */
export function makeInvitationEmails({ invitations, notify, mails, log }: Needs) {
  /** Returns 0 when the email is on its way, or else the seconds to wait. */
  async function send({ email, role }: ListedInvitation, inviter: Inviter): Promise<number> {
    const { team } = inviter
    const counters = [
      { limit: mails.ofAddress, key: email },
      { limit: mails.ofTeam, key: team },
    ]
    const waitSeconds = await tryTakeAll(counters)
    if (waitSeconds === 0) notify.invited(email, { team, role, invitedBy: inviter.email })
    return waitSeconds
  }

  const announce: AnnounceInvitation = async (invitation, inviter) => {
    if (!notify.hasEmail) return false
    try {
      return (await send(invitation, inviter)) === 0
    } catch (err) {
      log.warn({ err, invitationId: invitation.id }, 'invitation.notice_failed')
      return false
    }
  }

  const resend: ResendInvitation = async (admin, named) => {
    const invitation = await invitations.find(admin.teamId, named)
    if (!invitation) return false
    const waitSeconds = await send(invitation, admin)
    if (waitSeconds > 0) throw tooMany('emails to this address, or invitations of this team', waitSeconds)
    log.info({ invitationId: invitation.id, teamId: admin.teamId, by: admin.accountId }, 'invitation.resent')
    return true
  }

  return { announce, resend: notify.hasEmail ? resend : null }
}
