import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import type { Clock } from '../../kernel/clock.ts'
import { findPage } from '../paging.ts'
import type { FindTeamAdmin } from '../team-access.ts'
import { toMember, toMemberError } from './answers.ts'
import type { MemberChanges } from './changes.ts'
import type { TeamMemberStore } from './store.ts'

type Needs = {
  readonly members: TeamMemberStore
  readonly changes: MemberChanges
  readonly findTeamAdmin: FindTeamAdmin
  readonly clock: Clock
}

type Operations = 'listMembers' | 'changeMember' | 'removeMember'

const DEFAULT_LIMIT = 500

/** The members of a team, for its admins. */
export function makeMemberHandlers({ members, changes, findTeamAdmin, clock }: Needs): Handlers<Operations> {
  return {
    async listMembers(req, res) {
      const { limit = DEFAULT_LIMIT, after = '' } = req.query
      const { teamId } = await findTeamAdmin(req.params.team, req)
      const { shown, last } = await findPage(limit, (count) => members.list(teamId, after, count, clock.now()))
      res.status(200).json({ members: shown.map(toMember), next: last && last.email })
    },

    async changeMember(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const changed = await changes.setRole(admin, req.params.id, req.body.role)
      if (changed === 'reauthenticate') throw new ApiError('reauthenticate')
      if (typeof changed === 'string') throw toMemberError(changed)
      res.status(200).json(toMember(changed))
    },

    async removeMember(req, res) {
      const admin = await findTeamAdmin(req.params.team, req)
      const removed = await changes.remove(admin, { accountId: req.params.id })
      if (removed !== 'removed') throw toMemberError(removed)
      res.status(200).json({ ok: true })
    },
  }
}
