import type { Registry } from 'prom-client'
import type { LiveCallers } from '../access/live-callers.ts'
import { mayWriteLater } from '../database/errors.ts'
import type { Database } from '../database/client.ts'
import type { AnswerOrLastKnown } from '../database/last-known.ts'
import { openSnapshotCache } from '../directory/snapshot.ts'
import { makeDirectoryStore } from '../directory/store.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../log.ts'
import { makeSpendingStore } from '../spending/store.ts'
import type { Deployment, OnDirectory } from './deployment.ts'
import { openLedger } from './spending/ledger.ts'
import { makeLossMetrics } from './usage/metrics.ts'
import { openRecorder } from './usage/recorder.ts'
import { openSpool } from './usage/spool.ts'
import { makeCallEventStore } from './usage/store.ts'

const MAX_DIRECTORY_AGE_MS = 5000

type DatabaseNeeds = {
  readonly database: Database
  readonly live: Pick<LiveCallers, 'identify' | 'identifyKey' | 'explainToken' | 'watch'>
  /** Where events wait while the database cannot be reached; null: in memory. */
  readonly spoolDirectory: string | null
  readonly answerOrLastKnown: AnswerOrLastKnown
  /** Null: metrics are off. */
  readonly metrics: Registry | null
  readonly clock: Clock
  readonly log: Logger
}

export type DatabaseDeployment = Deployment & {
  /** Loads the spending limits again before the next call, because this process has changed them. */
  expireSpending(): void
}

/** Sessions, teams, spending limits and events are rows of the database. */
export function openDatabaseDeployment(needs: DatabaseNeeds): DatabaseDeployment {
  const { database, live, spoolDirectory, answerOrLastKnown, metrics, clock, log } = needs
  const directory = makeDirectoryStore(database)
  const watchers: OnDirectory[] = []
  const teams = openSnapshotCache({
    load: directory.loadSnapshot,
    onLoad: (snapshot) => watchers.forEach((onDirectory) => onDirectory(snapshot)),
    clock,
    maxAgeMs: MAX_DIRECTORY_AGE_MS,
    onFailure: (err) => log.warn({ err }, 'directory.load_failed'),
    answerOrLastKnown,
  })
  const spool = spoolDirectory === null ? null : openSpool({ directory: spoolDirectory, clock, log })
  const spendingStore = makeSpendingStore(database)
  const spending = openLedger({
    load: (names, batches) => spendingStore.findSpending({ names }, clock.now(), batches),
    clock,
    onFailure: (err) => log.warn({ err }, 'spending.load_failed'),
    answerOrLastKnown,
  })
  const { save } = makeCallEventStore(database)
  const recorder = openRecorder({
    async save(batch) {
      await save(batch)
      spending.noteSaved(batch)
    },
    onBatch: spending.noteBatch,
    onRefused: spending.noteRefused,
    onLost: metrics ? makeLossMetrics(metrics) : () => undefined,
    mayWriteLater,
    spool,
    log,
  })
  return {
    identify: live.identify,
    identifyKey: live.identifyKey,
    explainToken: live.explainToken,
    watchAccess: live.watch,
    findTeam: teams.team,
    watchDirectory: (onDirectory) => void watchers.push(onDirectory),
    spending,
    expireSpending: spending.expire,
    recordEvent(event) {
      // The ledger first: the recorder may put the event into a batch at once, which it reports to the ledger.
      spending.record(event)
      recorder.record(event)
    },
    async applyDirectory(given, judge) {
      const changes = await directory.applyDirectory(given, clock.now(), judge)
      await teams.reload()
      return changes
    },
    countDirectory: () => directory.count().catch(() => null),
    close: recorder.close,
  }
}
