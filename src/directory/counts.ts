import { isCallable } from './rules.ts'
import type { Directory, DirectoryModel } from './rules.ts'
import { serveEntriesOf } from './serve-entries.ts'

/** What a directory has. */
export type DirectoryCounts = {
  readonly teams: number
  /** Invitations in force. */
  readonly members: number
  /** The names of the backends that the directory lists. */
  readonly backends: readonly string[]
  /** Its models that calls may name, with the names of the backends that can serve each. */
  readonly models: readonly { readonly id: string; readonly backends: readonly string[] }[]
}

/** Counts what a directory has, for the log. */
export function countDirectory({ organizations, backends, models }: Directory): DirectoryCounts {
  const teams = organizations.flatMap((organization) => organization.teams)
  return {
    teams: teams.length,
    members: teams.reduce((count, { members }) => count + members.length, 0),
    backends: backends.map(({ name }) => name),
    models: listCallable(models),
  }
}

/** The models that calls may name, with the names of the backends that can serve each. */
export function listCallable(models: readonly DirectoryModel[]): DirectoryCounts['models'] {
  return models
    .filter(isCallable)
    .map((model) => ({ id: model.id, backends: serveEntriesOf(model).map(({ backend }) => backend) }))
}
