import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf } from '../../http/request.ts'
import { formatTeamName, parseTeamName } from '../../kernel/team-name.ts'
import type { TeamStore } from './store.ts'

type Needs = { readonly teams: TeamStore; readonly gatewayUrl: string }

export function teamRoutes({ teams, gatewayUrl }: Needs): Handlers<'getTeam'> {
  return {
    async getTeam(req, res) {
      const named = parseTeamName(req.params.team)
      const found = named && (await teams.findForMember(named, callerOf(req).accountId))
      if (!found) throw new ApiError('not_found', { message: 'You are in no team of this name.' })
      const { organization, name } = named
      res.status(200).json({
        team: formatTeamName(named),
        organization,
        name,
        endpoint: gatewayUrl,
        defaultModel: found.defaultModel,
      })
    },
  }
}
