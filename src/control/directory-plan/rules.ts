/**
 * An admin applies a directory to their teams in two steps: the plan shows what would change, and applying it names the
 * fingerprint of that plan. The plan is made again when it is applied. When its fingerprint differs, it is refused, so
 * that only the changes that the admin has seen are made.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { WantedTeam } from '../../directory/admin-directory.ts'
import { judgeAdminModel } from '../../directory/admin-models.ts'
import type { AdminModel, AdminModelSettings } from '../../directory/admin-models.ts'
import type { NameTable } from '../../directory/aliases.ts'
import { invalid, taken, writeMistakes } from '../../directory/mistakes.ts'
import type { AdminMistake } from '../../directory/mistakes.ts'
import type { SnapshotModel } from '../../directory/rules.ts'
import type { Role } from '../../kernel/caller.ts'

/** An invitation in force. */
export type CurrentMember = {
  readonly id: string
  readonly accountId: string
  readonly teamId: string
  readonly email: string
  readonly role: Role
  readonly source: 'directory' | 'admin'
}

/** A team as it is now. */
export type CurrentTeam = {
  readonly members: readonly CurrentMember[]
  /** The default model of the directory file; null: it sets none. */
  readonly defaultModel: string | null
  readonly adminDefaultModel: string | null
  readonly fileModels: readonly SnapshotModel[]
  readonly adminModels: readonly AdminModel[]
  /** The names of the backends that admins of the team have added. */
  readonly ownBackends: readonly string[]
  /** The names of all models of the directory file. */
  readonly names: NameTable
}

type MemberChange =
  | { readonly change: 'added'; readonly name: string; readonly after: Role }
  | { readonly change: 'changed'; readonly name: string; readonly after: Role; readonly row: CurrentMember }
  | { readonly change: 'removed'; readonly name: string; readonly row: CurrentMember }

type ModelChange =
  | { readonly change: 'added' | 'changed'; readonly name: string; readonly settings: AdminModelSettings }
  | { readonly change: 'removed'; readonly name: string }

export type PlannedChange =
  | ({ readonly kind: 'member' } & MemberChange)
  | ({ readonly kind: 'model' } & ModelChange)
  | { readonly kind: 'default_model'; readonly before: string | null; readonly after: string | null }

/** What stays as the directory file lists it. */
export type ReadOnly = {
  readonly kind: 'member' | 'default_model'
  readonly name: string
  readonly listed: string
}

export type TeamPlan = {
  readonly team: string
  readonly changes: readonly PlannedChange[]
  readonly readOnly: readonly ReadOnly[]
}

/** Decides what has to change in a team, or why it cannot. */
export function planTeam(wanted: WantedTeam, current: CurrentTeam): TeamPlan | AdminMistake {
  const { team } = wanted
  const members = planMembers(wanted, current)
  const models = planModels(wanted, current)
  if ('mistakes' in models) return within(team, models)
  const defaultModel = planDefaultModel(wanted, current, models)
  if ('mistakes' in defaultModel) return within(team, defaultModel)
  if (!keepsAdmin(current, members.changes))
    return within(team, taken([], 'The team would have no admin. Keep one of them.'))
  return {
    team,
    changes: [
      ...members.changes.map((change) => ({ kind: 'member', ...change }) as const),
      ...models,
      ...defaultModel.changes,
    ],
    readOnly: [...members.readOnly, ...defaultModel.readOnly],
  }
}

/** A mistake of a team or of a model, for a text that is about several. */
function within(name: string, { kind, mistakes }: AdminMistake): AdminMistake {
  return { kind, mistakes: [{ path: [], message: `${name}: ${writeMistakes(mistakes)}` }] }
}

function planMembers({ members }: WantedTeam, current: CurrentTeam) {
  const changes: MemberChange[] = []
  const readOnly: ReadOnly[] = []
  if (!members) return { changes, readOnly }
  const rows = new Map(current.members.map((row) => [row.email, row]))
  for (const { email, role } of members) {
    const row = rows.get(email)
    rows.delete(email)
    if (!row) changes.push({ change: 'added', name: email, after: role })
    else if (row.role === role) continue
    else if (row.source === 'admin') changes.push({ change: 'changed', name: email, after: role, row })
    else readOnly.push({ kind: 'member', name: email, listed: row.role })
  }
  for (const row of rows.values()) if (row.source === 'admin') changes.push({ change: 'removed', name: row.email, row })
  return { changes, readOnly }
}

/** A team without an admin may stay so, because only the operator can change that. */
function keepsAdmin({ members }: CurrentTeam, changes: readonly MemberChange[]): boolean {
  const roles = new Map(members.map(({ email, role }) => [email, role]))
  if (![...roles.values()].includes('admin')) return true
  for (const change of changes) {
    if (change.change === 'removed') roles.delete(change.name)
    else roles.set(change.name, change.after)
  }
  return [...roles.values()].includes('admin')
}

type PlannedModel = Extract<PlannedChange, { kind: 'model' }>

function planModels({ team, models }: WantedTeam, current: CurrentTeam): readonly PlannedModel[] | AdminMistake {
  if (!models) return []
  const { fileModels, ownBackends, names } = current
  for (const { id, settings } of models) {
    const others = models
      .filter((other) => other.id !== id)
      .map((other) => ({ id: other.id, aliases: other.settings.aliases }))
    const context = { team, names, fileModels, ownBackends, others }
    const mistake = judgeAdminModel(id, settings, context)
    if (mistake) return within(id, mistake)
  }
  const rows = new Map(current.adminModels.map((row) => [row.id, row]))
  const saved = models.flatMap(({ id, settings }): PlannedModel[] => {
    const row = rows.get(id)
    rows.delete(id)
    if (!row) return [{ kind: 'model', change: 'added', name: id, settings }]
    return isDeepStrictEqual(settingsOf(row), settings)
      ? []
      : [{ kind: 'model', change: 'changed', name: id, settings }]
  })
  return [...saved, ...[...rows.keys()].map((id) => ({ kind: 'model', change: 'removed', name: id }) as const)]
}

function settingsOf({ id: _id, createdAt: _createdAt, ...settings }: AdminModel): AdminModelSettings {
  return settings
}

function planDefaultModel(
  { defaultModel: given }: WantedTeam,
  current: CurrentTeam,
  models: readonly PlannedModel[],
): Pick<TeamPlan, 'changes' | 'readOnly'> | AdminMistake {
  const { defaultModel: listed, adminDefaultModel: before } = current
  if (listed !== null) {
    const isOther = given !== undefined && given !== listed
    return { changes: [], readOnly: isOther ? [{ kind: 'default_model', name: given ?? listed, listed }] : [] }
  }
  const after = given === undefined ? before : given
  // A change of the directory file may have removed the default model. That is no mistake of this directory.
  const isChosenHere = given !== undefined || models.some(({ name }) => name === after)
  if (after !== null && isChosenHere && !idsAfter(current, models).has(after))
    return invalid(['defaultModel'], `"${after}" is not a model of the team.`)
  return { changes: after === before ? [] : [{ kind: 'default_model', before, after }], readOnly: [] }
}

/** The ids of the models that the team has after the changes. */
function idsAfter({ fileModels, adminModels }: CurrentTeam, changes: readonly PlannedModel[]): ReadonlySet<string> {
  const ids = new Set([...fileModels, ...adminModels].map(({ id }) => id))
  for (const { change, name } of changes) {
    if (change === 'removed') ids.delete(name)
    else ids.add(name)
  }
  return ids
}

/**
 * While a directory is applied, no other admin can change the teams, and an embedded database answers no other request.
 */
const MAX_CHANGES = 500

/** What is wrong with plans that change too much at once; null: nothing. */
export function judgeSize(plans: readonly TeamPlan[]): AdminMistake | null {
  const changes = plans.reduce((sum, plan) => sum + plan.changes.length, 0)
  if (changes <= MAX_CHANGES) return null
  const message =
    `This directory makes ${changes} changes, and at most ${MAX_CHANGES} can be made at once. Apply it in parts. ` +
    'A list that is given is complete: it removes what it leaves out.'
  return invalid([], message)
}

/** Whether a plan makes somebody an admin. */
export function makesAdmin(plans: readonly TeamPlan[]): boolean {
  return plans.some(({ changes }) =>
    changes.some((change) => change.kind === 'member' && change.change !== 'removed' && change.after === 'admin'),
  )
}

/** Identifies a plan: the same changes of the same rows have the same one. */
export function fingerprintOfPlan(plans: readonly TeamPlan[]): string {
  return createHash('sha256').update(JSON.stringify(plans)).digest('base64url')
}
