/**
 * Which models a team may see and call. A team sees the published models of its allow-list, and may call those that are
 * also certified. A model that it may not call looks the same as one that does not exist.
 */
import { findModelId, isPrefix } from '../../directory/aliases.ts'
import { isCallable } from '../../directory/rules.ts'
import type { SnapshotModel } from '../../directory/rules.ts'
import { serveEntriesOf } from '../../directory/serve-entries.ts'
import type { PlacedModel } from '../../directory/serve-entries.ts'
import type { SnapshotTeam } from '../../directory/snapshot.ts'
import { WORKER_NAME } from '../../kernel/backend-name.ts'
import type { Caller } from '../../kernel/caller.ts'
import { writeShortList } from '../../kernel/formats/short-list.ts'

/** What calls need to know of a team. */
export type ModelTeam = Pick<SnapshotTeam, 'defaultModel' | 'models' | 'names' | 'timeZone'>

/** Finds the team of a caller; null when it no longer exists. */
export type FindTeam = (caller: Caller) => Promise<ModelTeam | null> | ModelTeam | null

/**
 * Picks the model of a request: the one that it names by id or alias, else the team's default. Null: there is none that
 * the team may call. What a name means does not depend on what the team may call.
 */
export function pickModel(team: ModelTeam, requested: string | undefined): SnapshotModel | null {
  const name = requested ?? team.defaultModel
  const model = name === null ? undefined : findByName(team, name)
  return model && isCallable(model) ? model : null
}

/** Makes the function that finds the team of a caller by its name. A team has only the models of an API key. */
export function makeFindTeam(findByName: (name: string) => ModelTeam | null | Promise<ModelTeam | null>): FindTeam {
  return ({ team: name, key }) => {
    const found = findByName(name)
    const ids = key?.models ?? null
    if (ids === null) return found
    const restrict = (team: ModelTeam | null) => team && withModels(team, ids)
    return found instanceof Promise ? found.then(restrict) : restrict(found)
  }
}

/** The team with only these models. Its default model stays, so that a call without a model is refused by its name. */
export function withModels(team: ModelTeam, ids: readonly string[]): ModelTeam {
  return { ...team, models: team.models.filter(({ id }) => ids.includes(id)) }
}

/** Returns the models that a team may see. */
export function visibleModels(team: ModelTeam): readonly SnapshotModel[] {
  return team.models.filter((model) => model.published)
}

function findByName({ names, models }: ModelTeam, name: string): SnapshotModel | undefined {
  const id = findModelId(names, name)
  return models.find((candidate) => candidate.id === id)
}

/** A name of a model: its id, or an alias. */
export type ModelEntry = { readonly name: string; readonly model: SnapshotModel }

/** The names that lists show: each visible model by its id, and then by each of its whole aliases. */
export function listEntries(team: ModelTeam): readonly ModelEntry[] {
  return visibleModels(team).flatMap((model) =>
    [model.id, ...model.aliases.filter((alias) => !isPrefix(alias))].map((name) => ({ name, model })),
  )
}

/** What the settings of an agent name: the models that the team may call, and the one to start with. */
export function offerModels(team: ModelTeam) {
  const entries = listEntries(team).filter(({ name }) => mayCall(team, name))
  return { entries, first: mayCall(team) ? team.defaultModel : (entries.at(0)?.name ?? null) }
}

/** Whether a team may call the model that a name means; without a name, its default model. */
export function mayCall(team: ModelTeam, name?: string): boolean {
  return pickModel(team, name) !== null
}

/** Finds a visible model by any of its names; null when the team sees none. */
export function findEntry(team: ModelTeam, name: string): ModelEntry | null {
  const model = findByName(team, name)
  return model?.published ? { name, model } : null
}

/** The maximum number of models that a refusal names. */
const MAX_NAMED = 30

/** Who may not use a model, as refusals say it: an API key can be for fewer models than its team has. */
export function toRefusedParty({ key }: Pick<Caller, 'key'>): string {
  return key ? 'This API key' : 'Your team'
}

/** Says that a caller may not call the model that it asked for, and which models of its team it may call. */
export function explainRefusal(caller: Pick<Caller, 'key'>, team: ModelTeam | null, requested: string): string {
  const ids = team?.models.filter(isCallable).map(({ id }) => id) ?? []
  const named = writeShortList(ids, MAX_NAMED)
  const rest = ids.length > MAX_NAMED ? '; GET /v1/models lists them all' : ''
  const may = ids.length === 0 ? 'It may call no model: ask an admin of the team' : `It may call ${named}${rest}`
  return `${toRefusedParty(caller)} may not call the model ${JSON.stringify(requested.slice(0, MAX_SHOWN))}. ${may}.`
}

/** The maximum number of characters of a requested name that a refusal repeats. */
const MAX_SHOWN = 128

/** The names of a model at the worker. */
export function namesAtWorker(model: PlacedModel): string[] {
  return serveEntriesOf(model).flatMap((entry) => (entry.backend === WORKER_NAME ? [entry.model] : []))
}
