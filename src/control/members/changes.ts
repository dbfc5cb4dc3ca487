import type { Caller, Role } from '../../kernel/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { Logger } from '../../log.ts'
import { isFresh } from '../fresh.ts'
import type { ListedMember, MemberRefusal, TeamMemberStore } from './store.ts'

/** Which member of which team. */
export type NamedMember = { readonly teamId: string; readonly accountId: string }

/**
 * Changes the members of a team, for an admin of it. Refusals are values, because the API and the page answer them
 * differently.
 */
export type MemberChanges = {
  /** Making somebody an admin needs a fresh sign-in, because a stolen token must not give its thief a lasting role. */
  setRole(
    caller: Caller,
    member: NamedMember,
    role: Role,
    ip: string,
  ): Promise<ListedMember | MemberRefusal | 'reauthenticate'>
  remove(caller: Caller, member: NamedMember, ip: string): Promise<'removed' | MemberRefusal>
}

type Needs = {
  readonly members: TeamMemberStore
  /** Tells the gateway of this process that a device session or an API key has ended. */
  readonly onSessionEnd: (id: string) => void
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the changes of members. Each is logged, and ended sessions are reported to the gateway. */
export function makeMemberChanges({ members, onSessionEnd, clock, log }: Needs): MemberChanges {
  return {
    async setRole(caller, member, role, ip) {
      const now = clock.now()
      if (role === 'admin' && !isFresh(caller, now)) return 'reauthenticate'
      const changed = await members.setRole(member, role, { by: 'admin', accountId: caller.accountId, ip }, now)
      if (typeof changed !== 'string') log.info({ ...member, role, by: caller.accountId }, 'member.changed')
      return changed
    },

    async remove({ accountId: by }, member, ip) {
      const ended = await members.remove(member, { by: 'admin', accountId: by, ip }, clock.now())
      if (typeof ended === 'string') return ended
      ended.forEach(onSessionEnd)
      log.info({ ...member, by }, 'member.removed')
      return 'removed'
    },
  }
}
