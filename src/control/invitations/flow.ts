import type { Database } from '../../database/client.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import type { Notify } from '../mails/notify.ts'
import type { MemberChanges } from '../members/changes.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { makeInvitationEmails } from './announce.ts'
import type { InvitationMails } from './announce.ts'
import { makeInvite } from './invite.ts'
import { makeInvitationHandlers } from './routes.ts'
import { makeInvitationStore } from './store.ts'

type Needs = {
  readonly database: Database
  readonly memberChanges: Pick<MemberChanges, 'remove'>
  readonly findTeamAdmin: FindTeamAdmin
  readonly notify: Notify
  readonly mails: InvitationMails
  readonly clock: Clock
  readonly log: Logger
}

/** The invitations of a team. The members page and a directory invite too. */
export function makeInvitationsFlow(needs: Needs) {
  const { database, memberChanges, findTeamAdmin, notify, mails, clock, log } = needs
  const invitations = makeInvitationStore(database)
  const { announce, resend } = makeInvitationEmails({ invitations, notify, mails, log })
  const invite = makeInvite({ invitations, announce, clock, log })
  const handlers = makeInvitationHandlers({ invitations, memberChanges, findTeamAdmin, invite, resend })
  return { invite, announce, resend, handlers }
}
