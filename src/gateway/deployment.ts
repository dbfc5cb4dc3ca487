/**
 * What a gateway knows of the deployment around it: who its callers are, which models teams may call, and where the
 * events of calls go.
 */
import type { LiveCallers } from '../access/live-callers.ts'
import { openPublishedKeys } from '../access/published-keys.ts'
import { tokenCallers } from '../access/token-callers.ts'
import type { Config } from '../config/values.ts'
import { isDatabaseUnavailable } from '../database/errors.ts'
import type { Database } from '../database/client.ts'
import type { DirectoryChanges } from '../directory/change-rules.ts'
import { countDirectory } from '../directory/counts.ts'
import type { DirectoryCounts } from '../directory/counts.ts'
import type { Directory } from '../directory/rules.ts'
import { snapshotCache, toSnapshot, withTeams } from '../directory/snapshot.ts'
import type { DirectorySnapshot } from '../directory/snapshot.ts'
import { directoryStore } from '../directory/store.ts'
import type { Identify, IdentifyKey } from '../http/authenticate.ts'
import { ApiError } from '../http/errors.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import type { ModelTeam } from './models/rules.ts'
import type { CallEvent } from './usage/events.ts'
import { makeEventLog } from './usage/log-events.ts'
import { openRecorder } from './usage/recorder.ts'
import { openSpool } from './usage/spool.ts'
import { callEventStore } from './usage/store.ts'

export type Deployment = {
  readonly identify: Identify
  readonly identifyKey: IdentifyKey
  /** Calls back when the session or API key ends; returns a function that stops watching. */
  readonly watchSession: LiveCallers['watch']
  readonly explainToken: LiveCallers['explainToken']
  /** A team by its `@organization/name`; null when there is none. */
  readonly findTeam: (name: string) => ModelTeam | null | Promise<ModelTeam | null>
  /** Calls back with each directory that is loaded or applied from now on, before a team of it is found. */
  readonly watchDirectory: (onDirectory: WatchDirectory) => void
  /** Takes an event and returns at once. */
  readonly recordEvent: (event: CallEvent) => void
  /**
   * Replaces the directory, for the next call. `judge` sees how many members change, and nothing changes when it
   * throws. Resolves with these changes; null without a database, which alone knows the members before.
   */
  applyDirectory(directory: Directory, judge?: (changes: DirectoryChanges) => void): Promise<DirectoryChanges | null>
  /** Counts what the directory has; null while the database cannot be reached. */
  countDirectory(): Promise<DirectoryCounts | null>
  close(): Promise<void>
}

type WatchDirectory = (directory: DirectorySnapshot) => void

const MAX_DIRECTORY_AGE_MS = 5000

type DatabaseNeeds = {
  readonly database: Database
  readonly live: Pick<LiveCallers, 'identify' | 'identifyKey' | 'explainToken' | 'watch'>
  /** Where events wait while the database cannot be reached; null: in memory. */
  readonly spoolDirectory: string | null
  readonly clock: Clock
  readonly log: Logger
}

/** Sessions, teams and events are rows of the database. */
export function openDatabaseDeployment(needs: DatabaseNeeds): Deployment {
  const { database, live, spoolDirectory, clock, log } = needs
  const directory = directoryStore(database.prisma)
  const watchers: WatchDirectory[] = []
  const teams = snapshotCache({
    load: directory.loadSnapshot,
    onLoad: (snapshot) => watchers.forEach((onDirectory) => onDirectory(snapshot)),
    clock,
    maxAgeMs: MAX_DIRECTORY_AGE_MS,
    onFailure: (err) => log.warn({ err }, 'directory.load_failed'),
  })
  const spool = spoolDirectory === null ? null : openSpool({ directory: spoolDirectory, clock, log })
  const recorder = openRecorder({ save: callEventStore(database.prisma).save, isDatabaseUnavailable, spool, log })
  return {
    identify: live.identify,
    identifyKey: live.identifyKey,
    explainToken: live.explainToken,
    watchSession: live.watch,
    findTeam: teams.team,
    watchDirectory: (onDirectory) => void watchers.push(onDirectory),
    recordEvent: recorder.record,
    async applyDirectory(given, judge) {
      const changes = await directory.applyDirectory(given, clock.now(), judge)
      await teams.reload()
      return changes
    },
    countDirectory: () => directory.count().catch(() => null),
    close: recorder.close,
  }
}

type StandaloneNeeds = {
  /** Issues the access tokens. */
  readonly baseUrl: string
  /** Where the keys that verify them are published, and the file that keeps a copy. */
  readonly verification: Config['verification']
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Without a database: tokens say who calls, the directory file says which teams and models there are, and events go to
 * the log.
 */
export async function openStandaloneDeployment(needs: StandaloneNeeds): Promise<Deployment> {
  const { baseUrl, verification, clock, log } = needs
  const { controlPlaneUrl, keysFile, offlineGraceMs: graceMs } = verification
  const keys = await openPublishedKeys({ controlPlaneUrl, file: keysFile, log })
  const { findPublicKey, isControlPlaneAway } = keys
  const callers = tokenCallers({ issuer: baseUrl, findPublicKey, graceMs, isControlPlaneAway, clock })
  const startedAt = clock.now()
  const watchers: WatchDirectory[] = []
  let snapshot = withTeams([])
  let counts: DirectoryCounts = { teams: 0, members: 0, backends: [] }
  return {
    identify: callers.identify,
    identifyKey() {
      throw new ApiError('unauthorized', { message: KEYS_NEED_DATABASE })
    },
    explainToken: callers.explainToken,
    // The end of a session is not known here. Its tokens end by themselves.
    watchSession: () => () => undefined,
    findTeam: (name) => snapshot.teams.get(name) ?? null,
    watchDirectory: (onDirectory) => void watchers.push(onDirectory),
    recordEvent: makeEventLog(log),
    async applyDirectory(given) {
      snapshot = toSnapshot(given, startedAt)
      counts = countDirectory(given)
      for (const onDirectory of watchers) onDirectory(snapshot)
      return null
    },
    countDirectory: async () => counts,
    close: keys.close,
  }
}

const KEYS_NEED_DATABASE =
  'This gateway has no database, so it cannot check API keys. Send an access token (svc token), or call a gateway ' +
  'with a database.'
