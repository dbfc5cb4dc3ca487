import { setTimeout as sleep } from 'node:timers/promises'
import type { Transaction } from '../database/client.ts'

export type DirectoryState = {
  /** Grows with each change of the directory. */
  readonly version: number
  /** The `revision` of the last file that had one. */
  readonly fileRevision: number | null
}

/** There is one row. */
const ID = 1

/** Reads the state of the directory; version 0 before the first file was applied. */
export async function findState(db: Transaction): Promise<DirectoryState> {
  const row = await db.directoryState.findUnique({ where: { id: ID } })
  return row ?? { version: 0, fileRevision: null }
}

/** Raises the version and keeps the revision of the file; a new revision has an audit event. */
export async function saveState(
  tx: Transaction,
  last: DirectoryState,
  revision: number | null,
  now: Date,
): Promise<void> {
  const state = { version: last.version + 1, fileRevision: revision ?? last.fileRevision }
  await tx.directoryState.upsert({ where: { id: ID }, create: { id: ID, ...state }, update: state })
  if (revision === null || revision === last.fileRevision) return
  await tx.auditEvent.create({ data: { kind: 'directory.revision_applied', at: now, details: { revision } } })
}

/** Lets all processes load teams, models and backends again. The transaction has to hold the directory's lock. */
export async function raiseVersion(tx: Transaction, now: Date): Promise<void> {
  await saveState(tx, await findState(tx), null, now)
}

/** An arbitrary number that identifies this lock. */
const DIRECTORY_LOCK = 5_150_331_846_001n
const LOCK_RETRY_MS = 50
const MAX_LOCK_TRIES = 600

/** Another process is changing the directory. */
export class DirectoryBusyError extends Error {
  override readonly name = 'DirectoryBusyError'
}

/**
 * Locks the directory until the transaction ends. It polls for the lock, because a statement that waits for it in the
 * database would exceed the statement timeout. Throws a `DirectoryBusyError` when another process keeps it.
 */
export async function lockDirectory(tx: Transaction, maxTries = MAX_LOCK_TRIES): Promise<void> {
  for (let tries = 1; tries <= maxTries; tries++) {
    const [row] = await tx.$queryRaw<{ taken: boolean }[]>`SELECT pg_try_advisory_xact_lock(${DIRECTORY_LOCK}) AS taken`
    if (row?.taken) return
    await sleep(LOCK_RETRY_MS)
  }
  throw new DirectoryBusyError('Another process has been applying its directory file for too long. Check that process.')
}
