import type { OnCallerEnd, Role } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { isFresh } from '../fresh.ts'
import type { TeamActor } from '../team-access.ts'
import type { ListedMember, MemberRefusal, TeamMemberStore } from './store.ts'

/** Which member of a team, by the account or by the invitation. */
type NamedMember = { readonly accountId: string } | { readonly invitationId: string }

/**
 * Changes the members of a team, for an admin of it. Refusals are values, because the API and the page answer them
 * differently.
 */
export type MemberChanges = {
  /** Making somebody an admin needs a fresh sign-in, because a stolen token must not give its thief a lasting role. */
  setRole(admin: TeamActor, accountId: string, role: Role): Promise<ListedMember | MemberRefusal | 'reauthenticate'>
  /** Withdraws the invitation of a member, and ends what depends on it. */
  remove(admin: TeamActor, member: NamedMember): Promise<'removed' | MemberRefusal>
}

type Needs = {
  readonly members: TeamMemberStore
  readonly onCallerEnd: OnCallerEnd
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the changes of members. Each is logged, and ended sessions are reported to the gateway. */
export function makeMemberChanges({ members, onCallerEnd, clock, log }: Needs): MemberChanges {
  return {
    async setRole(admin, accountId, role) {
      const now = clock.now()
      if (role === 'admin' && !isFresh(admin, now)) return 'reauthenticate'
      const changed = await members.setRole(admin, accountId, role, now)
      const { teamId, accountId: by } = admin
      if (typeof changed !== 'string') log.info({ teamId, accountId, role, by }, 'member.changed')
      return changed
    },

    async remove(admin, member) {
      const named = 'accountId' in member ? member : { id: member.invitationId }
      const ended = await members.remove(admin, named, clock.now())
      if (typeof ended === 'string') return ended
      ended.forEach(onCallerEnd)
      log.info({ teamId: admin.teamId, ...member, by: admin.accountId }, 'member.removed')
      return 'removed'
    },
  }
}
