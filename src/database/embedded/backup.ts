import { constants, existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { unlessMissing } from '../../kernel/error-code.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { makePrivateDirectory } from '../../private-files.ts'
import { findDamagedFile, SUMS_FILE, writeSums } from './backup-sums.ts'
import { lockDataDirectory, requireOwner } from './lock.ts'

/** An embedded database cannot be backed up or restored. The message says what to do. */
export class BackupError extends OperatorError {
  override readonly name = 'BackupError'
}

/** The database itself, in the directory of an embedded database and in a backup. */
export const dataOf = (directory: string) => join(directory, 'data')

/** The file that exists while a new database is being created there. */
export const unfinishedOf = (data: string) => `${data}.unfinished`

/** Where `svc restore` makes the next database, beside the one that it replaces. */
export const restoredOf = (data: string) => `${data}.restored`

/** Copies the files of a database that no statement changes meanwhile. Files are shared where the file system can. */
export async function copyData(data: string, to: string): Promise<void> {
  await cp(data, to, { recursive: true, mode: constants.COPYFILE_FICLONE })
}

/** Copies the database of a service that is not running. Throws a `DirectoryInUseError` when it is. */
export async function backUpStopped(directory: string, backup: string): Promise<void> {
  const unlock = lockDataDirectory(directory)
  try {
    await copyData(dataOf(directory), dataOf(backup))
  } finally {
    unlock()
  }
}

/** Moves a copy into the backup, also to another file system. When that fails, the copy is removed. */
export async function moveData(copy: string, backup: string): Promise<void> {
  try {
    await rename(copy, dataOf(backup)).catch(() => copyData(copy, dataOf(backup)))
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** Opens the copy in a backup, and writes its checksums. Rejects with a `BackupError` when it cannot be opened. */
export async function completeBackup(backup: string): Promise<void> {
  await checkData(dataOf(backup))
  await writeSums(backup)
}

/** Creates the directory of a new backup. Its database contains secrets, so no other user may read it. */
export async function prepareBackup(backup: string): Promise<void> {
  await mkdir(backup, { recursive: true })
  if ((await readdir(backup)).length > 0) throw new BackupError(`${backup} is not empty. Name a new directory.`)
  await chmod(backup, 0o700)
}

/**
 * Replaces the database by a backup, and resolves with where the former one is now; null when there was none. Throws a
 * `DirectoryInUseError` while the service runs. Nothing is replaced when the backup is damaged or cannot be opened.
 */
export async function restoreBackup(path: string, backup: string): Promise<string | null> {
  await requireWhole(backup)
  const directory = resolve(path)
  requireOwner(directory)
  await makePrivateDirectory(directory)
  const unlock = lockDataDirectory(directory)
  try {
    const copy = restoredOf(dataOf(directory))
    await copyAndCheck(dataOf(backup), copy)
    const former = existsSync(dataOf(directory)) ? await findFreeName(directory) : null
    if (former) await rename(dataOf(directory), former)
    // A start that was killed may have left this file. With it, the next start would take the restored database for
    // an unfinished one, and delete it.
    await rm(unfinishedOf(dataOf(directory)), { force: true })
    await rename(copy, dataOf(directory))
    return former
  } finally {
    unlock()
  }
}

/** Rejects with a `BackupError` when this is no backup, or a damaged one. */
export async function requireWhole(backup: string): Promise<void> {
  const names: readonly string[] = await unlessMissing(readdir(backup), [])
  if (!names.includes('data')) {
    throw new BackupError(`${backup} is not a backup: it has no directory "data".`)
  }
  if (!existsSync(join(backup, SUMS_FILE))) {
    throw new BackupError(
      `${backup} has no checksums: it is not complete, or an earlier version wrote it. If you trust it, write them ` +
        `there: find data -type f -exec sha256sum {} + > ${SUMS_FILE}`,
    )
  }
  const damaged = await findDamagedFile(backup)
  if (damaged === null) return
  throw new BackupError(`The file ${damaged} of the backup is missing or damaged. Use another backup.`)
}

/** Copies a database, and opens the copy. When one of both fails, the copy is removed. */
async function copyAndCheck(data: string, copy: string): Promise<void> {
  try {
    // One that was left by a process that was killed.
    await rm(copy, { recursive: true, force: true })
    await copyData(data, copy)
    await checkData(copy)
  } catch (error) {
    await rm(copy, { recursive: true, force: true })
    throw error
  }
}

/** Postgres fills its buffers with zeros when it starts: by default 128 MB. */
const SMALL_BUFFERS = ['-c', 'shared_buffers=16MB']

/** Opens a copy, which completes it: what the database had not written yet is in its log. */
async function checkData(data: string): Promise<void> {
  try {
    const { PGlite } = await import('@electric-sql/pglite')
    const pglite = await PGlite.create(data, { startParams: [...PGlite.defaultStartParams, ...SMALL_BUFFERS] })
    await pglite.query('SELECT count(*) FROM "_prisma_migrations"')
    await pglite.close()
  } catch (cause) {
    throw new BackupError(`The copy in ${data} cannot be opened: ${String(cause)}.`, { cause })
  }
}

/** `data.before-restore-1`, or the next number that is free. */
async function findFreeName(directory: string): Promise<string> {
  const names = new Set(await readdir(directory))
  let number = 1
  while (names.has(`data.before-restore-${number}`)) number += 1
  return join(directory, `data.before-restore-${number}`)
}
