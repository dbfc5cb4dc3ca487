import type { FindMembership } from '../../directory/memberships.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { findMemberTeam } from '../team-access.ts'

type Needs = {
  readonly findMembership: FindMembership
  /** The gateway's public address. */
  readonly gatewayUrl: string
}

/** A team of the caller, with the address of its gateway. */
export function makeTeamHandlers({ findMembership, gatewayUrl }: Needs): Handlers<'getTeam'> {
  return {
    async getTeam(req, res) {
      const { team, membership } = await findMemberTeam(findMembership, req.params.team, callerOf(req).accountId)
      const { organization, name } = team
      const { defaultModel } = membership
      res.status(200).json({ team: formatTeamName(team), organization, name, endpoint: gatewayUrl, defaultModel })
    },
  }
}
