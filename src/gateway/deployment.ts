/**
 * What a gateway knows of the deployment around it: who its callers are, which models teams may call, and where the
 * events of calls go.
 */
import type { LiveCallers } from '../access/live-callers.ts'
import type { DirectoryChanges } from '../directory/change-rules.ts'
import type { DirectoryCounts } from '../directory/counts.ts'
import type { Directory } from '../directory/rules.ts'
import type { DirectorySnapshot } from '../directory/snapshot.ts'
import type { ExplainToken, Identify, IdentifyKey } from '../kernel/caller.ts'
import type { ModelTeam } from './models/rules.ts'
import type { SpendingLedger } from './spending/ledger.ts'
import type { CallEvent } from './usage/events.ts'

export type Deployment = {
  readonly identify: Identify
  readonly identifyKey: IdentifyKey
  /** Calls back when the session or API key ends; returns a function that stops watching. */
  readonly watchAccess: LiveCallers['watch']
  readonly explainToken: ExplainToken
  /** A team by its `@organization/name`; null when there is none. */
  readonly findTeam: (name: string) => ModelTeam | null | Promise<ModelTeam | null>
  /** Calls back with each directory that is loaded or applied from now on, before a team of it is found. */
  readonly watchDirectory: (onDirectory: OnDirectory) => void
  readonly spending: SpendingLedger
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

export type OnDirectory = (directory: DirectorySnapshot) => void
