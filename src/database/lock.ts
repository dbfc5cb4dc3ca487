import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** Somebody else has the directory; the message names it and the owner's process id. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError'

  constructor(directory: string, owner: string) {
    super(
      `the database directory ${directory} is in use by ${owner}: an embedded database belongs to one process; ` +
        'stop that one, name another directory, or share a postgresql:// database',
    )
  }
}

/** Long enough for two that start at once to get out of each other's way: one of them wins. */
const WAIT_MS = 500

/**
 * Makes this process the only owner of a directory until the function that it returns is called, or until the process ends,
 * however it ends. The lock is the operating system's: SQLite is how plain Node gets at one, its database stays empty.
 * Throws a `DirectoryInUseError` when another process, or this one, has it already.
 */
export function lockDirectory(directory: string): () => void {
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

/** SQLITE_BUSY. */
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
