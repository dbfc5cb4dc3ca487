import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { readConfig } from '../../config.ts'
import {
  BackupError,
  backUpStopped,
  completeBackup,
  dataOf,
  moveData,
  prepareBackup,
  restoreBackup,
} from '../../database/embedded/backup.ts'
import { DirectoryInUseError, lockBackups, requireOwner } from '../../database/embedded/lock.ts'
import { restoreToPostgres } from '../../database/restore-to-postgres.ts'
import { openLog } from '../../log.ts'
import { askService } from '../../server/management.ts'
import { requireSocket } from './reload.ts'

/** `svc backup DIR`: copies the embedded database, whether the service runs or not, and checks that the copy opens. */
export async function backUp(target: string): Promise<void> {
  const directory = requireEmbedded()
  requireData(directory)
  const backup = resolve(target)
  const unlock = lockBackups(directory)
  try {
    await prepareBackup(backup)
    await backUpStopped(directory, backup).catch(async (error: unknown) => {
      if (!(error instanceof DirectoryInUseError)) throw error
      await moveData(await askService(requireSocket(), 'backup'), backup)
    })
    await completeBackup(backup)
  } finally {
    unlock()
  }
  process.stdout.write(`The database is backed up in ${backup}. Protect it like a private key.\n`)
}

/**
 * `svc restore DIR`: replaces the embedded database of a service that is not running by a backup, or fills an empty
 * database on a Postgres server with it.
 */
export async function restore(source: string): Promise<void> {
  const { database, logLevel } = readConfig()
  if (database?.kind === 'postgres') {
    const log = await openLog(logLevel)
    await restoreToPostgres(database, resolve(source), log)
    await log.close()
    process.stdout.write(`The database of SVC_DATABASE_URL is filled from ${source}.\n`)
    return
  }
  const directory = requireEmbedded()
  const former = await restoreBackup(directory, resolve(source))
  process.stdout.write(`The database in ${directory} is restored from ${source}.\n`)
  if (former) process.stdout.write(`The former one is in ${former}. Delete it when you do not need it any more.\n`)
}

/** Throws an `OperatorError` when there is no embedded database, or when another user owns it. */
export function requireData(directory: string): void {
  if (!existsSync(dataOf(directory))) {
    throw new BackupError(`There is no database in ${directory}. Run this with the settings of the service.`)
  }
  requireOwner(directory)
}

function requireEmbedded(): string {
  const { database } = readConfig()
  if (database?.kind === 'embedded') return resolve(database.directory)
  throw new BackupError(
    'SVC_DATABASE_URL names no embedded database. Use pg_dump and pg_restore with a Postgres server.',
  )
}
