import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hasCode } from '../../kernel/error-code.ts'
import { OperatorError } from '../../kernel/operator-error.ts'

/** Another process uses the directory. The message names the directory and that process's id. */
export class DirectoryInUseError extends OperatorError {
  override readonly name = 'DirectoryInUseError'

  constructor(directory: string, owner: string) {
    super(
      `The database directory ${directory} is in use by ${owner}. Only one process can use an embedded database. ` +
        'Stop that process, set SVC_DATABASE_URL to another directory, or share a postgresql:// database.',
    )
  }
}

/** How long to wait for the lock. Processes that start at the same time hold it for a moment before they give way. */
const WAIT_MS = 500

/**
 * Locks a directory for this process until the returned function is called or the process ends, for whatever reason.
 * Throws a `DirectoryInUseError` when this or another process holds the lock. Node has no file locks of the operating
 * system, but its SQLite has: the lock is that of an empty SQLite database.
 */
export function lockDataDirectory(directory: string): () => void {
  const ownerFile = join(directory, 'owner.pid')
  const inUse = () => new DirectoryInUseError(directory, readOwner(ownerFile))
  const unlock = lock(directory, 'lock', inUse, () => writeOwner(ownerFile))
  return () => {
    rmSync(ownerFile, { force: true })
    unlock()
  }
}

/** Keeps other backups of a database away while one is made: each removes the copies that earlier ones have left. */
export function lockBackups(directory: string): () => void {
  const isRunning = () => new OperatorError(`Another backup of ${directory} is running. Wait until it has ended.`)
  return lock(directory, 'backup-lock', isRunning)
}

function lock(directory: string, name: string, toRefusal: () => OperatorError, onLocked = () => {}): () => void {
  const file = openLock(directory, name)
  try {
    // With its journal in memory, SQLite writes nothing, so a database on a full disk can be backed up to another one.
    file.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    onLocked()
  } catch (error) {
    file.close()
    if (isBusy(error)) throw toRefusal()
    const message = `The database directory ${directory} cannot be locked: ${String(error)}. Check its disk.`
    throw new OperatorError(message, { cause: error })
  }
  return () => file.close()
}

function openLock(directory: string, name: string): DatabaseSync {
  try {
    return new DatabaseSync(join(directory, name), { timeout: WAIT_MS })
  } catch (cause) {
    const message = `The database directory ${directory} cannot be written: ${String(cause)}. Run this as its owner.`
    throw new OperatorError(message, { cause })
  }
}

/**
 * Throws an `OperatorError` when the directory exists and another user owns it. What root creates there, the service
 * could not read.
 */
export function requireOwner(directory: string): void {
  const owner = statSync(directory, { throwIfNoEntry: false })?.uid
  if (owner === undefined || !process.getuid || process.getuid() === owner) return
  throw new OperatorError(
    `The database directory ${directory} belongs to the user with the id ${owner}, and the service could not read ` +
      'what another user creates there. Run this as that user, for example with "runuser".',
  )
}

/** Whether SQLite reports that the database is locked (SQLITE_BUSY). */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5
}

/** Writes the id of this process, which only messages need: a full disk must not prevent a backup. */
function writeOwner(file: string): void {
  try {
    writeFileSync(file, `${process.pid}\n`)
  } catch (error) {
    if (!hasCode(error, 'ENOSPC', 'EDQUOT')) throw error
  }
}

function readOwner(file: string): string {
  try {
    const id = readFileSync(file, 'utf8').trim()
    if (id !== '') return `process ${id}`
  } catch {
    // Only the message needs the id. The other process may have removed the file meanwhile.
  }
  return 'another process'
}
