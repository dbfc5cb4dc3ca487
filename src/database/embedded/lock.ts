import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
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
  const lock = new DatabaseSync(join(directory, 'lock'), { timeout: WAIT_MS })
  const ownerFile = join(directory, 'owner.pid')
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
    writeFileSync(ownerFile, `${process.pid}\n`)
  } catch (error) {
    lock.close()
    throw isBusy(error) ? new DirectoryInUseError(directory, readOwner(ownerFile)) : error
  }
  return () => {
    rmSync(ownerFile, { force: true })
    lock.close()
  }
}

/** Whether SQLite reports that the database is locked (SQLITE_BUSY). */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 5
}

function readOwner(file: string): string {
  try {
    return `process ${readFileSync(file, 'utf8').trim()}`
  } catch {
    return 'another process'
  }
}
