import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { parseTeamName } from '../../kernel/team-name.ts'
import type { Logger } from '../../log.ts'
import type { InvitationStore, ListedInvitation } from './store.ts'

type Needs = {
  readonly invitations: InvitationStore
  /** Says to this process that a session has ended. */
  readonly onEnd: (sessionId: string) => void
  readonly clock: Clock
  readonly log: Logger
}

export function invitationRoutes({
  invitations,
  onEnd,
  clock,
  log,
}: Needs): Handlers<'listInvitations' | 'createInvitation' | 'withdrawInvitation'> {
  /** The team's id, for an admin of it. To others it is forbidden; to strangers it does not exist. */
  async function teamOfAdmin(name: string, { accountId }: Caller): Promise<string> {
    const team = parseTeamName(name)
    const membership = team && (await invitations.findMembership(team, accountId))
    if (!membership) throw new ApiError('not_found', { message: 'You are in no team of this name.' })
    if (membership.role !== 'admin')
      throw new ApiError('forbidden', { message: 'Only admins of the team may do this.' })
    return membership.teamId
  }

  return {
    async listInvitations(req, res) {
      const teamId = await teamOfAdmin(req.params.team, callerOf(req))
      res.set('Cache-Control', 'no-store')
      res.status(200).json({ invitations: (await invitations.list(teamId)).map(toAnswer) })
    },

    async createInvitation(req, res) {
      const caller = callerOf(req)
      const teamId = await teamOfAdmin(req.params.team, caller)
      const email = toEmail(req.body.email)
      if (!email) throw new ApiError('invalid_request', { message: 'email must be one e-mail address.' })
      const inviter = { by: 'admin', accountId: caller.accountId, ip: ipOf(req) } as const
      const wanted = { teamId, email, role: req.body.role ?? 'member' } as const
      const made = await invitations.invite(wanted, inviter, clock.now())
      if (!made) throw new ApiError('conflict', { message: 'This address is invited to the team already.' })
      log.info({ invitationId: made.id, teamId, by: caller.accountId }, 'invitation.created')
      res.status(201).json(toAnswer(made))
    },

    async withdrawInvitation(req, res) {
      const caller = callerOf(req)
      const teamId = await teamOfAdmin(req.params.team, caller)
      const inviter = { by: 'admin', accountId: caller.accountId, ip: ipOf(req) } as const
      const ended = await invitations.withdraw(req.params.id, teamId, inviter, clock.now())
      if (ended === 'not_found') throw new ApiError('not_found', { message: 'The team has no invitation of this id.' })
      if (ended === 'listed')
        throw new ApiError('conflict', { message: 'The directory file lists this member; take them out there.' })
      ended.forEach(onEnd)
      log.info({ invitationId: req.params.id, teamId, by: caller.accountId }, 'invitation.withdrawn')
      res.status(200).json({ ok: true })
    },
  }
}

function toAnswer({ id, email, role, source, createdAt }: ListedInvitation) {
  return { id, email, role, source, createdAt: createdAt.toISOString() }
}
