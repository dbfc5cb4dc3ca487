import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import type { Logger } from '../../log.ts'
import type { FindAdminTeam } from '../admin-team.ts'
import { isFresh } from '../fresh.ts'
import { toMemberError } from '../members/answers.ts'
import type { TeamMemberStore } from '../members/store.ts'
import type { AnnounceInvitation } from './announce.ts'
import { makeInvitationStore } from './store.ts'
import type { ListedInvitation } from './store.ts'

type Needs = {
  readonly db: PrismaClient
  readonly members: Pick<TeamMemberStore, 'remove'>
  readonly findAdminTeam: FindAdminTeam
  readonly announce: AnnounceInvitation
  /** Tells the gateway of this process that a device session or an API key has ended. */
  readonly onSessionEnd: (id: string) => void
  readonly clock: Clock
  readonly log: Logger
}

type Operations = 'listInvitations' | 'createInvitation' | 'withdrawInvitation'

/** The invitations of a team, for its admins. */
export function makeInvitationHandlers(needs: Needs): Handlers<Operations> {
  const { db, members, findAdminTeam, announce, onSessionEnd, clock, log } = needs
  const invitations = makeInvitationStore(db)

  return {
    async listInvitations(req, res) {
      const teamId = await findAdminTeam(req.params.team, callerOf(req))
      res.set('Cache-Control', 'no-store')
      res.status(200).json({ invitations: (await invitations.list(teamId)).map(toAnswer) })
    },

    async createInvitation(req, res) {
      const caller = callerOf(req)
      const teamId = await findAdminTeam(req.params.team, caller)
      const email = toEmail(req.body.email)
      if (!email) throw new ApiError('invalid_request', { message: 'email must be one email address.' })
      const inviter = { by: 'admin', accountId: caller.accountId, ip: ipOf(req) } as const
      const wanted = { teamId, email, role: req.body.role ?? 'member' } as const
      // A stolen token must not give its thief a lasting role.
      if (wanted.role === 'admin' && !isFresh(caller, clock.now())) throw new ApiError('reauthenticate')
      const created = await invitations.invite(wanted, inviter, clock.now())
      if (!created) throw new ApiError('conflict', { message: 'This address is invited to the team already.' })
      log.info({ invitationId: created.id, teamId, by: caller.accountId }, 'invitation.created')
      const emailed = await announce(created, req.params.team, caller.accountId)
      res.status(201).json({ ...toAnswer(created), emailed })
    },

    async withdrawInvitation(req, res) {
      const caller = callerOf(req)
      const teamId = await findAdminTeam(req.params.team, caller)
      const inviter = { by: 'admin', accountId: caller.accountId, ip: ipOf(req) } as const
      const ended = await members.remove({ id: req.params.id, teamId }, inviter, clock.now())
      if (ended === 'not_found')
        throw new ApiError('not_found', { message: 'The team has no invitation with this id.' })
      if (typeof ended === 'string') throw toMemberError(ended)
      ended.forEach(onSessionEnd)
      log.info({ invitationId: req.params.id, teamId, by: caller.accountId }, 'invitation.withdrawn')
      res.status(200).json({ ok: true })
    },
  }
}

function toAnswer({ id, email, role, source, createdAt }: ListedInvitation) {
  return { id, email, role, source, createdAt: createdAt.toISOString() }
}
