import type { DirectoryChanges, Counted } from './change-rules.ts'
import type { RowChanges } from './compare.ts'
import type { MemberChanges } from './member-rows.ts'
import type { BackendChanges, ModelChanges } from './model-rows.ts'
import type { TeamChanges } from './team-rows.ts'

/** Everything that has to be written so that the rows equal a directory. */
export type DirectoryPlan = {
  readonly teams: TeamChanges
  readonly models: ModelChanges
  readonly backends: BackendChanges
  readonly members: MemberChanges
}

export function hasChanges({ teams, models, backends, members }: DirectoryPlan): boolean {
  const { invited, changed, withdrawn } = members
  const rows: readonly (readonly unknown[])[] = [
    ...[teams.organizations, teams.teams, models, backends].flatMap((of) => [of.added, of.changed, of.removed]),
    ...[invited, changed, withdrawn],
  ]
  return rows.some(({ length }) => length > 0)
}

/** Counts what a plan changes. */
export function toChanges(plan: DirectoryPlan, revision: number | null, lastRevision: number | null): DirectoryChanges {
  const { before, invited, changed, withdrawn } = plan.members
  // An invitation that is active and the file's already has another role; the other ones come to the file.
  const isRole = ({ row }: MemberChanges['changed'][number]) => row.source === 'directory' && row.revokedAt === null
  return {
    members: before,
    invited: invited.length + changed.filter((change) => !isRole(change)).length,
    roles: changed.filter(isRole).length,
    withdrawn: withdrawn.filter(({ source }) => source === 'directory').length,
    teams: countRows(plan.teams.teams),
    models: countRows(plan.models),
    backends: countRows(plan.backends),
    revision,
    lastRevision,
  }
}

function countRows({ added, changed, removed }: RowChanges<unknown, unknown>): Counted {
  return { added: added.length, changed: changed.length, removed: removed.length }
}
