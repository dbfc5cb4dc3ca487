import type { Directory } from './rules.ts'

/** What a directory has. */
export type DirectoryCounts = {
  readonly teams: number
  /** Invitations in force. */
  readonly members: number
  /** The names of the backends that the directory lists. */
  readonly backends: readonly string[]
}

/** Counts what a directory has, for the log. */
export function countDirectory({ organizations, backends }: Directory): DirectoryCounts {
  const teams = organizations.flatMap((organization) => organization.teams)
  return {
    teams: teams.length,
    members: teams.reduce((count, { members }) => count + members.length, 0),
    backends: backends.map(({ name }) => name),
  }
}
