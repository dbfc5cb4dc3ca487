import type { FindMembership } from '../directory/members.ts'
import type { Caller } from '../kernel/caller.ts'
import { findMemberTeam, requireAdmin } from './team-access.ts'

/**
 * Finds the id of a team that the caller is an admin of. Throws `forbidden` for members; for others the team does not
 * exist.
 */
export type FindAdminTeam = (name: string, caller: Caller) => Promise<string>

/** Makes the check with which every operation for admins of a team begins. */
export function makeFindAdminTeam(findMembership: FindMembership): FindAdminTeam {
  return async (name, { accountId }) => {
    const { membership } = await findMemberTeam(findMembership, name, accountId)
    requireAdmin(membership.role)
    return membership.teamId
  }
}
