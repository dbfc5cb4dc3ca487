import type { Clock } from '../kernel/clock.ts'
import { formatTeamName } from '../kernel/team-name.ts'
import type { Directory, DirectoryModel } from './rules.ts'

/** A model as the directory has it. */
export type SnapshotModel = DirectoryModel & { readonly createdAt: Date }

export type SnapshotTeam = {
  readonly organization: string
  readonly name: string
  readonly defaultModel: string | null
  /** What the team may use, by id. */
  readonly models: readonly SnapshotModel[]
}

/** Every team, by `@organization/name`. */
export type DirectorySnapshot = ReadonlyMap<string, SnapshotTeam>

/** What the directory file says, for a service without a database; `createdAt` is what its models then claim. */
export function toSnapshot({ organizations, models }: Directory, createdAt: Date): DirectorySnapshot {
  const dated = models.map((model) => ({ ...model, createdAt }))
  const teams = organizations.flatMap(({ name: organization, teams }) =>
    teams.map(({ name, defaultModel, models: ids }) => {
      return { organization, name, defaultModel, models: byId(dated.filter(({ id }) => ids.includes(id))) }
    }),
  )
  return toMap(teams)
}

export function toMap(teams: readonly SnapshotTeam[]): DirectorySnapshot {
  return new Map(teams.map((team) => [formatTeamName(team), team]))
}

/** The order in which lists of models are shown. */
export function byId(models: readonly SnapshotModel[]): SnapshotModel[] {
  return models.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

type Needs = {
  readonly load: () => Promise<DirectorySnapshot>
  readonly clock: Clock
  /** How old a snapshot may be before it is loaded again. */
  readonly maxAgeMs: number
  /** Told each time that loading failed, whether or not an old snapshot helps out. */
  readonly onFailure: (error: unknown) => void
}

export type SnapshotCache = ReturnType<typeof snapshotCache>

/**
 * The newest snapshot, for whoever asks on every call. It answers from memory and reloads behind the answer once the snapshot
 * is older than `maxAgeMs`. It makes a caller wait only for the first snapshot, and for a new one where nobody has asked for
 * twice that time. While loading fails the last good snapshot serves; without one, asking rejects with the loader's error.
 */
export function snapshotCache({ load, clock, maxAgeMs, onFailure }: Needs) {
  let kept: DirectorySnapshot | null = null
  let checkedAt = 0
  let isFailing = false
  let loading: Promise<DirectorySnapshot> | null = null

  const reload = () => {
    loading ??= load()
      .then((snapshot) => {
        isFailing = false
        return (kept = snapshot)
      })
      .catch((error: unknown) => {
        isFailing = true
        onFailure(error)
        if (!kept) throw error
        return kept
      })
      .finally(() => {
        checkedAt = clock.now().getTime()
        loading = null
      })
    return loading
  }

  return {
    /** Loads now, for instance after a change by this process; keeps what there is when that fails. */
    reload,
    /** A team by its `@organization/name`; null when there is none of that name. */
    team(name: string): SnapshotTeam | null | Promise<SnapshotTeam | null> {
      const pick = (snapshot: DirectorySnapshot) => snapshot.get(name) ?? null
      // A clock that was set back must not keep a snapshot for ever.
      const ageMs = Math.abs(clock.now().getTime() - checkedAt)
      if (kept && ageMs < maxAgeMs) return pick(kept)

      const reloaded = reload()
      if (kept && (isFailing || ageMs < 2 * maxAgeMs)) return pick(kept)
      return reloaded.then(pick)
    },
  }
}
