import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { toMemberError } from '../members/answers.ts'
import type { MemberChanges } from '../members/changes.ts'
import { findPage, readCursor, readTimeCursor, writeTimeCursor } from '../paging.ts'
import { invalidEmail } from '../request-fields.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import type { ResendInvitation } from './announce.ts'
import type { Invite, InviteRefusal } from './invite.ts'
import type { InvitationStore, ListedInvitation } from './store.ts'

type Needs = {
  readonly invitations: InvitationStore
  readonly memberChanges: Pick<MemberChanges, 'remove'>
  readonly findTeamAdmin: FindTeamAdmin
  readonly invite: Invite
  /** Null: the service cannot send email. */
  readonly resend: ResendInvitation | null
}

type Operations = 'listInvitations' | 'createInvitation' | 'resendInvitation' | 'withdrawInvitation'

const DEFAULT_LIMIT = 500

/** The invitations of a team, for its admins. */
export function makeInvitationHandlers({
  invitations,
  memberChanges,
  findTeamAdmin,
  invite,
  resend,
}: Needs): Handlers<Operations> {
  return {
    async listInvitations(req, res) {
      const { limit = DEFAULT_LIMIT, after } = req.query
      const { teamId } = await findTeamAdmin(req.params.team, req)
      const cursor = readCursor('after', after, readTimeCursor)
      const { shown, last } = await findPage(limit, (count) => invitations.list(teamId, cursor, count))
      const next = last && writeTimeCursor({ at: last.createdAt, id: last.id })
      res.status(200).json({ invitations: shown.map(toAnswer), next })
    },

    async createInvitation(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const made = await invite(admin, { email: req.body.email, role: req.body.role ?? 'member' })
      if (typeof made === 'string') throw REFUSALS[made]()
      res.status(201).json({ ...toAnswer(made.invitation), emailed: made.emailed })
    },

    async resendInvitation(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      if (!resend) throw new ApiError('email_unavailable')
      if (!(await resend(admin, { id: req.params.id }))) throw unknownInvitation()
      res.status(200).json({ ok: true })
    },

    async withdrawInvitation(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const removed = await memberChanges.remove(admin, { invitationId: req.params.id })
      if (removed === 'not_found') throw unknownInvitation()
      if (removed !== 'removed') throw toMemberError(removed)
      res.status(200).json({ ok: true })
    },
  }
}

function unknownInvitation(): ApiError {
  return new ApiError('not_found', { message: 'The team has no invitation with this id.' })
}

const REFUSALS: Readonly<Record<InviteRefusal, () => ApiError>> = {
  invalid_email: invalidEmail,
  reauthenticate: () => new ApiError('reauthenticate'),
  invited_before: () =>
    new ApiError('conflict', { message: 'This address is invited to the team already, so it can sign in.' }),
}

function toAnswer({ id, email, role, source, createdAt }: ListedInvitation) {
  return { id, email, role, source, createdAt: createdAt.toISOString() }
}
