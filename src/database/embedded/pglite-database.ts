import type { SqlDriverAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaClient } from '../../../generated/prisma/client.ts'
import { makePing, once } from '../client.ts'
import type { Database, Listening, OnNotice } from '../client.ts'
import { makeStatements } from '../statements.ts'

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
    ...makeStatements(adapter),
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
