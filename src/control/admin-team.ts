import type { FindMembership } from '../directory/members.ts'
import { ApiError } from '../http/errors.ts'
import type { Caller } from '../kernel/caller.ts'
import { parseTeamName } from '../kernel/team-name.ts'

/**
 * Finds the id of a team that the caller is an admin of. Throws `forbidden` for members; for others the team does not
 * exist.
 */
export type FindAdminTeam = (name: string, caller: Caller) => Promise<string>

export function makeFindAdminTeam(findMembership: FindMembership): FindAdminTeam {
  return async (name, { accountId }) => {
    const team = parseTeamName(name)
    const membership = team && (await findMembership(team, accountId))
    if (!membership) throw new ApiError('not_found', { message: 'You are not a member of a team with this name.' })
    if (membership.role !== 'admin')
      throw new ApiError('forbidden', { message: 'Only admins of the team can do this.' })
    return membership.teamId
  }
}
