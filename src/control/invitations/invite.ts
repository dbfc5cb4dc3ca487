import type { Role } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import type { Logger } from '../../log.ts'
import { isFresh } from '../fresh.ts'
import type { TeamActor } from '../team-access.ts'
import type { AnnounceInvitation } from './announce.ts'
import type { InvitationStore, ListedInvitation } from './store.ts'

/** Why nobody was invited. */
export type InviteRefusal = 'invalid_email' | 'reauthenticate' | 'invited_before'

/**
 * Invites a person to a team, for an admin of it, and tells them by email. Inviting an admin needs a fresh sign-in,
 * because a stolen token must not give its thief a lasting role.
 */
export type Invite = (
  admin: TeamActor,
  wanted: { readonly email: string; readonly role: Role },
) => Promise<{ readonly invitation: ListedInvitation; readonly emailed: boolean } | InviteRefusal>

type Needs = {
  readonly invitations: InvitationStore
  readonly announce: AnnounceInvitation
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the function that the API and the members page share. */
export function makeInvite({ invitations, announce, clock, log }: Needs): Invite {
  return async (admin, { email: typed, role }) => {
    const now = clock.now()
    const email = toEmail(typed)
    if (!email) return 'invalid_email'
    if (role === 'admin' && !isFresh(admin, now)) return 'reauthenticate'
    const invitation = await invitations.invite(admin, { email, role }, now)
    if (!invitation) return 'invited_before'
    log.info({ invitationId: invitation.id, teamId: admin.teamId, by: admin.accountId }, 'invitation.created')
    return { invitation, emailed: await announce(invitation, admin) }
  }
}
