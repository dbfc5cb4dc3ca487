import type { FindMembership } from '../../directory/members.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import { formatTeamName, parseTeamName } from '../../kernel/team-name.ts'

type Needs = {
  readonly findMembership: FindMembership
  /** The gateway's public address. */
  readonly gatewayUrl: string
}

/** A team of the caller, with the address of its gateway. */
export function makeTeamHandlers({ findMembership, gatewayUrl }: Needs): Handlers<'getTeam'> {
  return {
    async getTeam(req, res) {
      const team = parseTeamName(req.params.team)
      const membership = team && (await findMembership(team, callerOf(req).accountId))
      if (!membership) throw new ApiError('not_found', { message: 'You are not a member of a team with this name.' })
      const { organization, name } = team
      const { defaultModel } = membership
      res.status(200).json({ team: formatTeamName(team), organization, name, endpoint: gatewayUrl, defaultModel })
    },
  }
}
