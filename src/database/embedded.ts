import { resolve } from 'node:path'
import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaClient } from '../../generated/prisma/client.ts'
import type { Logger } from '../log.ts'
import { makePrivateDirectory } from '../private-files.ts'
import { DatabaseCrashError, DatabaseOpenError, makePing, once } from './client.ts'
import type { Database, Listening, OnNotice } from './client.ts'
import { startDatabaseThread, makeThreadAdapter } from './database-thread-client.ts'
import { lockDataDirectory } from './lock.ts'

/** Opens Postgres inside this process (PGlite), with its data in a directory that no other process uses meanwhile. */
export async function openEmbedded(path: string, log: Logger | null): Promise<Database> {
  const directory = resolve(path)
  await prepareDirectory(directory, log)
  const unlock = lockDataDirectory(directory)
  try {
    return await openThread(directory, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

/** Opens Postgres inside this process, with its data in memory. */
export function openInMemory(): Promise<Database> {
  return openThread(null, () => undefined)
}

/** The database contains the keys that sign tokens, so no other user may read its directory. */
async function prepareDirectory(directory: string, log: Logger | null): Promise<void> {
  try {
    if (await makePrivateDirectory(directory)) log?.warn({ path: directory }, 'files.made_private')
  } catch (cause) {
    const message = `Cannot prepare the database directory ${directory}: ${String(cause)}. Check SVC_DATABASE_URL.`
    throw new DatabaseOpenError(message, { cause })
  }
}

async function openThread(directory: string | null, onClosed: () => void): Promise<Database> {
  const thread = startDatabaseThread(directory)
  try {
    await thread.call('open')
  } catch (error) {
    await thread.end()
    throw error
  }
  return toDatabase({
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
  })
}

/** An open PGlite with a current schema. */
export type OpenPGlite = Pick<Database, 'copyFiles' | 'crashed'> & {
  readonly adapter: SqlDriverAdapterFactory
  readonly ping: () => Promise<unknown>
  /** Calls `onNotice` for each notification of a channel, until the returned function is called. */
  readonly listen: (channel: string, onNotice: (payload: string) => void) => () => void
  /** Waits for running statements. */
  readonly close: () => Promise<void>
}

/** Connects Prisma to an open PGlite. */
export function toDatabase({ adapter, ping, listen, copyFiles, crashed, close }: OpenPGlite): Database {
  const prisma = new PrismaClient({
    adapter,
    errorFormat: 'minimal',
    // All requests share one connection, so waiting for it does not mean that the database is in trouble.
    transactionOptions: { maxWait: 10_000, timeout: 10_000 },
  })
  const listenings: Listening[] = []
  return {
    prisma,
    ping: makePing(ping),
    listen(channel, onNotice) {
      const listening = startListening(listen, channel, onNotice)
      listenings.push(listening)
      return listening
    },
    copyFiles,
    crashed,
    close: once(async () => {
      for (const listening of listenings) listening.close()
      await prisma.$disconnect()
      await close()
    }),
  }
}

function startListening(listen: OpenPGlite['listen'], channel: string, onNotice: OnNotice): Listening {
  let isOpen = true
  const stop = listen(channel, (payload) => {
    if (isOpen) onNotice(payload)
  })
  return {
    isConnected: () => isOpen,
    close() {
      if (isOpen) stop()
      isOpen = false
    },
  }
}
