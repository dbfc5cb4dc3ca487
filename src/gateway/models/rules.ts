/**
 * Which models a team may see and call, and the lists that show them. A team sees the published models of its
 * allow-list, and may call those that are also certified. A model that it may not call looks the same as one that does
 * not exist.
 */
import type { SnapshotModel, SnapshotTeam } from '../../directory/snapshot.ts'
import type { Caller } from '../../kernel/caller.ts'

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

/** A model in vendor B's format. */
export function toMessagesModel({ id, displayName, createdAt }: SnapshotModel) {
  return { id, type: 'model' as const, display_name: displayName, created_at: createdAt.toISOString() }
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

/** Writes `ModelInfo` of Codex's protocol crate: every required member, and no capability that is not verified. */
function toCodexModel({ id, displayName }: SnapshotModel, position: number) {
  return {
    slug: id,
    display_name: displayName,
    description: null,
    supported_reasoning_levels: [],
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: position,
    availability_nux: null,
    upgrade: null,
    base_instructions: CODEX_INSTRUCTIONS,
    supports_reasoning_summaries: false,
    support_verbosity: false,
    default_verbosity: null,
    apply_patch_tool_type: null,
    truncation_policy: { mode: 'bytes', limit: 10_000 },
    supports_parallel_tool_calls: false,
    experimental_supported_tools: [],
  }
}

/**
 * Codex uses this instead of its own prompt, so it must contain all instructions for an agent. An indented line
 * continues the line before it.
 */
const CODEX_INSTRUCTIONS =
  `You are a coding agent. You work in a person's terminal, in the folder they opened, through the tools you are
  given.

- Do what is asked and finish it. Look before you change: search and read the files that matter, and follow the
  conventions you find there, including AGENTS.md files of the folder you work in and of those above it.
- Keep changes small and to the point. Fix causes rather than symptoms. Do not touch what is not part of the task,
  and never undo changes that you did not make.
- Use the shell tool for commands and for editing files. Prefer rg to grep and find. Do not run commands that
  destroy work or reach beyond the task unless you were asked to.
- Check your work with the tests, type checks or linters that the project has, and say so when you could not.
- Before a group of commands, say in a sentence what you are about to do. At the end say briefly what changed,
  where, and what is left. Give paths and commands in backticks.
- When a command is refused by the sandbox or needs approval, ask for it through the tool instead of working
  around it.
- If you are not sure what is wanted and cannot find out, ask one short question; otherwise make a reasonable
  choice and name it.`.replaceAll('\n  ', ' ')
