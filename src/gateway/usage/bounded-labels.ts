/** The value of labels that have no series of their own. */
const OTHER = 'other'

const MAX_TEAMS = 100
const MAX_PAIRS = 500

/**
 * Makes a function that bounds the labels `team` and `model`, because a metrics server keeps each combination of values
 * as a series. The first 100 teams have their name, and the first 500 pairs of a team and a model theirs; all others
 * are counted as `other`.
 */
export function makeBoundedLabels(): (team: string, model: string) => readonly [team: string, model: string] {
  const known = new Map<string, Set<string>>()
  let pairs = 0
  return (team, model) => {
    if (!known.has(team) && known.size < MAX_TEAMS) known.set(team, new Set())
    const models = known.get(team)
    if (!models) return [OTHER, OTHER]
    if (!models.has(model)) {
      if (pairs >= MAX_PAIRS) return [team, OTHER]
      models.add(model)
      pairs += 1
    }
    return [team, model]
  }
}
