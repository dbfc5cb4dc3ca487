import type { AnswerOrLastKnown } from '../database/last-known.ts'
import { teamOfBackend } from '../kernel/backend-name.ts'
import type { Clock } from '../kernel/clock.ts'
import { formatTeamName } from '../kernel/team-name.ts'
import type { AdminBackend } from './admin-backends.ts'
import { resolveAdminModel } from './admin-models.ts'
import type { AdminModel } from './admin-models.ts'
import { makeNameTable } from './aliases.ts'
import type { NamedModel, NameTable } from './aliases.ts'
import type { DirectoryBackend } from './backends.ts'
import { toSnapshotModel } from './rules.ts'
import type { Directory, SnapshotModel } from './rules.ts'

export type SnapshotTeam = {
  readonly organization: string
  readonly name: string
  readonly defaultModel: string | null
  /** The zone in which the periods of its spending limits begin. */
  readonly timeZone: string
  /** The models that the team may use, ordered by id. */
  readonly models: readonly SnapshotModel[]
  /** The names of all models of the directory, also of those that the team may not use. */
  readonly names: NameTable
}

export type DirectorySnapshot = {
  /** By `@organization/name`. */
  readonly teams: ReadonlyMap<string, SnapshotTeam>
  readonly backends: readonly DirectoryBackend[]
  /** Those that admins of teams have added. */
  readonly adminBackends: readonly AdminBackend[]
}

/** Converts a directory file for a service without a database. Its models get `createdAt`. */
export function toSnapshot({ organizations, models, backends }: Directory, createdAt: Date): DirectorySnapshot {
  const dated = byId(models.map((model) => toSnapshotModel(model, createdAt)))
  const teams = organizations.flatMap(({ name: organization, teams }) =>
    teams.map(({ name, defaultModel, timeZone, models }) => {
      const ids = new Set(models)
      return { organization, name, defaultModel, timeZone, models: dated.filter(({ id }) => ids.has(id)) }
    }),
  )
  return withTeams(teams, models, backends)
}

type GivenTeam = Omit<SnapshotTeam, 'names'> & { readonly adminModels?: readonly AdminModel[] }

/**
 * Teams with the models that their admins have added. Such a model may use the backends that admins of the same team
 * have added. `models`: all of the directory file, of which only the names count here.
 */
export function withTeams(
  teams: readonly GivenTeam[],
  models: readonly NamedModel[] = [],
  backends: readonly DirectoryBackend[] = [],
  adminBackends: readonly AdminBackend[] = [],
): DirectorySnapshot {
  const names = makeNameTable(models)
  const byTeam = Map.groupBy(adminBackends, ({ name }) => teamOfBackend(name))
  const whole = teams.map((team) => withAdminModels(team, names, byTeam.get(formatTeamName(team)) ?? []))
  return {
    teams: new Map(whole.map((team) => [formatTeamName(team), team])),
    backends,
    adminBackends,
  }
}

/** The team with the models that its admins have added, whose names only this team sees. */
function withAdminModels(
  { adminModels = [], ...team }: GivenTeam,
  names: NameTable,
  backends: readonly AdminBackend[],
): SnapshotTeam {
  const sources = { fileModels: team.models, ownBackends: backends.map(({ name }) => name), names }
  const own = adminModels.flatMap((model) => resolveAdminModel(model, sources) ?? [])
  if (own.length === 0) return { ...team, names }
  return { ...team, models: byId([...team.models, ...own]), names: { ...names, next: makeNameTable(own) } }
}

/** Orders models by id, as lists show them. */
export function byId(models: readonly SnapshotModel[]): SnapshotModel[] {
  return models.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

type Needs = {
  /** Resolves with the same object as before when nothing has changed. */
  readonly load: () => Promise<DirectorySnapshot>
  readonly clock: Clock
  /** Called with each new snapshot, before a team of it is found. */
  readonly onLoad: (snapshot: DirectorySnapshot) => void
  /** The age up to which a snapshot is served while the newest one can be loaded. */
  readonly maxAgeMs: number
  /** Called with the first of several errors in a row, even when an older snapshot is served. */
  readonly onFailure: (error: unknown) => void
  readonly answerOrLastKnown: AnswerOrLastKnown
}

/**
 * Caches the newest snapshot (stale-while-revalidate). It answers from memory and reloads in the background once the
 * snapshot is older than half of `maxAgeMs`. A caller waits for the first snapshot, and when the snapshot is older than
 * `maxAgeMs`. While loading fails, the last snapshot is served; without one, `team` rejects with the loader's error.
 */
export function openSnapshotCache({ load, onLoad, clock, maxAgeMs, onFailure, answerOrLastKnown }: Needs) {
  let kept: DirectorySnapshot | null = null
  let checkedAt = 0
  let isFailing = false
  let loading: Promise<DirectorySnapshot> | null = null

  const reload = () => {
    // A change that is made while the rows are read may be missing.
    const startedAt = clock.now().getTime()
    loading ??= load()
      .then((snapshot) => {
        isFailing = false
        if (snapshot !== kept) onLoad(snapshot)
        return (kept = snapshot)
      })
      .catch((error: unknown) => {
        if (!isFailing) onFailure(error)
        isFailing = true
        throw error
      })
      .finally(() => {
        checkedAt = startedAt
        loading = null
      })
    return loading
  }

  return {
    /**
     * Loads now, for example after this process has changed the directory. When that fails, the last snapshot stays;
     * rejects when there is none.
     */
    async reload(): Promise<void> {
      // A load that is already running may have read the rows before the change.
      await loading?.catch(() => undefined)
      await reload().catch((error: unknown) => {
        if (!kept) throw error
      })
    },
    /** Finds a team by `@organization/name`; null when no such team exists. */
    team(name: string): SnapshotTeam | null | Promise<SnapshotTeam | null> {
      const pick = (snapshot: DirectorySnapshot) => snapshot.teams.get(name) ?? null
      // The absolute value, so that a clock that was set back does not keep a snapshot valid.
      const ageMs = Math.abs(clock.now().getTime() - checkedAt)
      if (kept && ageMs < maxAgeMs / 2) return pick(kept)

      const reloaded = reload()
      if (!kept) return reloaded.then(pick)
      const last = kept
      if (!isFailing && ageMs >= maxAgeMs) return answerOrLastKnown(reloaded, () => last).then(pick)
      reloaded.catch(() => undefined)
      return pick(last)
    },
  }
}
