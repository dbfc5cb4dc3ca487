import { addSeconds } from '../../kernel/clock.ts'
import type { Role } from '../../kernel/caller.ts'
import { DAY_SECONDS } from '../../kernel/durations.ts'

/** The part of an invitation in force that the rule reads. */
type Member = { readonly role: Role; readonly source: 'directory' | 'admin' }

/**
 * Whether an admin may change a member. `listed`: the directory file lists the member, so only the file changes it.
 * `last_admin`: the team would have no admin.
 */
export type MemberVerdict = 'allowed' | 'listed' | 'last_admin'

/** How long ago lists of members say that somebody was last seen. Ended sessions are kept for that long. */
export const LAST_SEEN_DAYS = 30

/** The time since which lists of members say that somebody was seen. */
export function seenSince(now: Date): Date {
  return addSeconds(now, -LAST_SEEN_DAYS * DAY_SECONDS)
}

/** Decides a change by an admin. `wanted`: the new role; null: the member is removed. */
export function judgeMemberChange(member: Member, wanted: Role | null, otherAdmins: number): MemberVerdict {
  if (member.source === 'directory') return 'listed'
  const losesAdmin = member.role === 'admin' && wanted !== 'admin'
  return losesAdmin && otherAdmins === 0 ? 'last_admin' : 'allowed'
}
