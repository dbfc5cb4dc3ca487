import type { FindTeam, ModelTeam } from './rules.ts'
import { withModels } from './rules.ts'

type FindTeamByName = (name: string) => ModelTeam | null | Promise<ModelTeam | null>

/** Finds the team of a caller. An API key can be for some models only: then the team has only those. */
export function makeFindTeam(findByName: FindTeamByName): FindTeam {
  return ({ team: name, key }) => {
    const found = findByName(name)
    const ids = key?.models ?? null
    if (ids === null) return found
    const restrict = (team: ModelTeam | null) => team && withModels(team, ids)
    return found instanceof Promise ? found.then(restrict) : restrict(found)
  }
}
