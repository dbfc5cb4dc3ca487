/**
 * Which models a team may see and call, and the lists that show them. A team sees the published models of its
 * allow-list, and may call those that are also certified. A model that it may not call looks the same as one that does
 * not exist.
 */
import type { SnapshotModel, SnapshotTeam } from '../../directory/snapshot.ts'
import type { Caller } from '../../kernel/caller.ts'
import { toCodexModel } from './codex.ts'

/** The models of a team. */
export type ModelTeam = Pick<SnapshotTeam, 'defaultModel' | 'models'>

/** Finds the team of a caller; null when it no longer exists. */
export type FindTeam = (caller: Caller) => Promise<ModelTeam | null> | ModelTeam | null

/** The model of a call, or why there is none. */
export type ModelVerdict = { readonly model: SnapshotModel } | 'model_not_allowed' | 'no_model_named'

/** Picks the model of a request: the one that it names, else the team's default. */
export function pickModel(team: ModelTeam, requested: string | undefined): ModelVerdict {
  const id = requested ?? team.defaultModel
  if (id === null) return 'no_model_named'
  const model = team.models.find((candidate) => candidate.id === id)
  return model && isCallable(model) ? { model } : 'model_not_allowed'
}

/** Returns the models that a team may see. */
export function visibleModels(team: ModelTeam): readonly SnapshotModel[] {
  return team.models.filter((model) => model.published)
}

function isCallable({ published, certified }: SnapshotModel): boolean {
  return published && certified
}

/** Vendor A's list with the members of vendor B's, because clients of both read it. */
export function toModelList(models: readonly SnapshotModel[]) {
  return { object: 'list' as const, ...toOnePage(models.map(toListedModel)) }
}

/** Writes vendor A's list, and also `models`, the only member that Codex decodes. */
export function toCodexModelList(models: readonly SnapshotModel[]) {
  return {
    object: 'list' as const,
    data: models.map(toListedModel),
    models: models.filter(isCallable).map(toCodexModel),
  }
}

/** Writes the list in vendor B's format. It always has one page. */
export function toMessagesModelList(models: readonly SnapshotModel[]) {
  return toOnePage(models.map(toMessagesModel))
}

/** The members of vendor B's lists. A list is never split into pages. */
function toOnePage<Model extends { readonly id: string }>(data: Model[]) {
  return { data, has_more: false, first_id: data.at(0)?.id ?? null, last_id: data.at(-1)?.id ?? null }
}

/** A model in vendor B's format. The token limits are null where the directory does not have them. */
export function toMessagesModel({ id, displayName, contextWindow, caps, createdAt }: SnapshotModel) {
  return {
    id,
    type: 'model' as const,
    display_name: displayName,
    created_at: createdAt.toISOString(),
    max_input_tokens: contextWindow,
    max_tokens: caps.maxOutput ?? null,
  }
}

/** A model in vendor A's format, with the members of vendor B's. */
export function toListedModel(model: SnapshotModel) {
  const { owner, displayName, certified, published, verificationState, createdAt } = model
  return {
    ...toMessagesModel(model),
    object: 'model' as const,
    created: Math.floor(createdAt.getTime() / 1000),
    owned_by: owner,
    metadata: { displayName, certified, published, verificationState },
  }
}
