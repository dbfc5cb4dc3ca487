import { resolve } from 'node:path'
import type { Logger } from '../../log.ts'
import { explainDirectoryError, makePrivateDirectory } from '../../private-files.ts'
import { DatabaseCrashError, DatabaseOpenError } from '../client.ts'
import type { Database } from '../client.ts'
import { makeThreadAdapter, startDatabaseThread } from './database-thread-client.ts'
import type { DatabaseThread } from './database-thread-client.ts'
import { lockDataDirectory } from './lock.ts'
import type { OpenPGlite } from './pglite-database.ts'

/** Opens Postgres inside this process (PGlite), with its data in a directory that no other process uses meanwhile. */
export async function openEmbedded(path: string, log: Logger | null): Promise<Database> {
  const directory = resolve(path)
  // Before anything else: it loads its modules while this thread does the rest.
  const thread = startDatabaseThread(directory)
  let unlock = () => {}
  try {
    await prepareDirectory(directory, log)
    unlock = lockDataDirectory(directory)
    return await openThread(thread, directory, unlock, log)
  } catch (error) {
    await thread.end()
    unlock()
    throw error
  }
}

/** Opens Postgres inside this process, with its data in memory. */
export async function openInMemory(): Promise<Database> {
  const thread = startDatabaseThread(null)
  try {
    return await openThread(thread, null, () => undefined, null)
  } catch (error) {
    await thread.end()
    throw error
  }
}

/** The database contains the keys that sign tokens, so no other user may read its directory. */
async function prepareDirectory(directory: string, log: Logger | null): Promise<void> {
  try {
    if (await makePrivateDirectory(directory)) log?.warn({ path: directory }, 'files.made_private')
  } catch (cause) {
    const reason = explainDirectoryError(cause)
    const message = `Cannot prepare the database directory ${directory}: ${reason}. Check SVC_DATABASE_URL.`
    throw new DatabaseOpenError(message, { cause })
  }
}

async function openThread(
  thread: DatabaseThread,
  directory: string | null,
  onClosed: () => void,
  log: Logger | null,
): Promise<Database> {
  // Prisma is loaded while the thread opens the database.
  const [{ toDatabase }, migrations] = await Promise.all([import('./pglite-database.ts'), thread.call('open')])
  if (migrations.length > 0) log?.info({ migrations }, 'database.migrated')
  return toDatabase(connectionTo(thread, directory, onClosed))
}

function connectionTo(thread: DatabaseThread, directory: string | null, onClosed: () => void): OpenPGlite {
  return {
    adapter: makeThreadAdapter(thread),
    ping: () => thread.call('ping'),
    listen: thread.listen,
    copyFiles: directory === null ? null : () => thread.call('copyAside'),
    crashed: thread.crashed,
    async close() {
      await thread.call('close').catch((error: unknown) => {
        // A thread that has crashed has nothing to close.
        if (!(error instanceof DatabaseCrashError)) throw error
      })
      await thread.end()
      onClosed()
    },
  }
}
