import { isTaken } from './aliases.ts'
import type { NamedModel, NameTable } from './aliases.ts'
import type { DirectoryChanges, Counted, Overridden } from './change-rules.ts'
import type { RowChanges } from './rows/compare.ts'
import type { MemberRowChanges } from './rows/member-rows.ts'
import type { BackendChanges, ModelChanges } from './rows/model-rows.ts'
import type { TeamChanges } from './rows/team-rows.ts'

/** Everything that has to be written so that the rows equal a directory. */
export type DirectoryRowChanges = {
  readonly teams: TeamChanges
  readonly models: ModelChanges
  readonly backends: BackendChanges
  readonly members: MemberRowChanges
}

/** Whether there is any row to write. */
export function hasChanges({ teams, models, backends, members }: DirectoryRowChanges): boolean {
  const { invited, changed, withdrawn } = members
  const rows: readonly (readonly unknown[])[] = [
    ...[teams.organizations, teams.teams, models, backends].flatMap((of) => [of.added, of.changed, of.removed]),
    ...[invited, changed, withdrawn],
  ]
  return rows.some(({ length }) => length > 0)
}

/** Counts the changes of rows. */
export function countChanges(
  rows: DirectoryRowChanges,
  revision: number | null,
  lastRevision: number | null,
): DirectoryChanges {
  const { before, invited, changed, withdrawn } = rows.members
  // Only the role of an active invitation of the file can change. Any other changed invitation becomes the file's.
  const changesRole = ({ row }: MemberRowChanges['changed'][number]) =>
    row.source === 'directory' && row.revokedAt === null
  return {
    members: before,
    invited: invited.length + changed.filter((change) => !changesRole(change)).length,
    roles: changed.filter(changesRole).length,
    withdrawn: withdrawn.length,
    teams: countRows(rows.teams.teams),
    models: countRows(rows.models),
    backends: countRows(rows.backends),
    revision,
    lastRevision,
  }
}

/** What admins have added and the file lists too; null when there is none. */
export function findOverridden(
  { members }: DirectoryRowChanges,
  adminModels: readonly NamedModel[],
  names: NameTable,
): Overridden | null {
  const taken = members.changed.filter(({ row }) => row.source === 'admin' && row.revokedAt === null)
  const models = adminModels.filter(({ id, aliases }) => [id, ...aliases].some((name) => isTaken(names, name)))
  if (taken.length + models.length === 0) return null
  return { members: taken.length, models: models.map(({ id }) => id) }
}

function countRows({ added, changed, removed }: RowChanges<unknown, unknown>): Counted {
  return { added: added.length, changed: changed.length, removed: removed.length }
}
