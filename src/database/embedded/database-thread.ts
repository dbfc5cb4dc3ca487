/**
 * The thread of an embedded database. PGlite blocks its thread while a statement runs, so it does not run on the one
 * that serves calls. `database-thread-client.ts` starts this thread and calls its methods by messages.
 */
import { readdir, rm } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { PGlite } from '@electric-sql/pglite'
import type { SqlDriverAdapter, SqlQuery, SqlQueryable, SqlResultSet, Transaction } from '@prisma/driver-adapter-utils'
import { migrate, readMigrations } from '../migrations.ts'
import { BackupError, copyData, dataOf } from './backup.ts'
import { openDataDirectory, openMemory, makePgliteAdapter, toMigrationConnection } from './pglite.ts'
import { toPlainError } from './plain-error.ts'
import type { PlainError } from './plain-error.ts'
import { lowerThreadPriority } from './thread-priority.ts'

/** What the thread does for the service. A number names a transaction or a subscription. */
export type ThreadMethods = {
  /** Opens the database and migrates its schema. The first call. Resolves with the migrations that it has applied. */
  open(): Promise<readonly string[]>
  /** Runs a statement in a transaction, or by itself. */
  query(transaction: number | null, statement: SqlQuery): Promise<SqlResultSet>
  execute(transaction: number | null, statement: SqlQuery): Promise<number>
  begin(): Promise<number>
  commit(transaction: number): Promise<void>
  rollback(transaction: number): Promise<void>
  ping(): Promise<void>
  /** Sends the notifications of a channel until `unlisten`. */
  listen(subscription: number, channel: string): Promise<void>
  unlisten(subscription: number): Promise<void>
  copyAside(): Promise<string>
  close(): Promise<void>
}

export type ThreadCall = {
  readonly id: number
  readonly method: keyof ThreadMethods
  readonly args: readonly unknown[]
}

export type ThreadMessage =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError }
  | { readonly subscription: number; readonly payload: string }

/** What the thread is started with. */
export type ThreadData = {
  /** Null: the database is in memory. */
  readonly directory: string | null
}

/** Begins like the other names beside `data`, because folders that people have made there must not match it. */
const COPY_PREFIX = 'data.copy-'

function makeMethods(directory: string | null, send: (message: ThreadMessage) => void): ThreadMethods {
  let pglite: PGlite
  let adapter: SqlDriverAdapter
  let lastTransaction = 0
  const transactions = new Map<number, Transaction>()
  const unlistens = new Map<number, () => Promise<void>>()

  function queryableOf(id: number | null): SqlQueryable {
    return id === null ? adapter : transactionOf(id)
  }
  function transactionOf(id: number): Transaction {
    const found = transactions.get(id)
    if (!found) throw new Error('The transaction has ended.')
    return found
  }
  function endTransaction(id: number, end: (transaction: Transaction) => Promise<void>): Promise<void> {
    const transaction = transactionOf(id)
    transactions.delete(id)
    return end(transaction)
  }

  return {
    async open() {
      pglite = await (directory === null ? openMemory() : openDataDirectory(dataOf(directory)))
      const migrations = await migrate(toMigrationConnection(pglite), await readMigrations())
      adapter = await makePgliteAdapter(pglite).connect()
      // A thread that is ended does not write what it has compiled.
      flushCompileCache()
      // Calls are served before batches of events are saved.
      lowerThreadPriority()
      return migrations
    },
    query: async (transaction, statement) => queryableOf(transaction).queryRaw(statement),
    execute: async (transaction, statement) => queryableOf(transaction).executeRaw(statement),
    async begin() {
      const transaction = await adapter.startTransaction()
      transactions.set(++lastTransaction, transaction)
      return lastTransaction
    },
    commit: async (id) => endTransaction(id, (transaction) => transaction.commit()),
    rollback: async (id) => endTransaction(id, (transaction) => transaction.rollback()),
    ping: async () => void (await pglite.query('SELECT 1')),
    async listen(subscription, channel) {
      const unlisten = await pglite.listen(channel, (payload) => send({ subscription, payload }))
      unlistens.set(subscription, () => unlisten())
    },
    async unlisten(subscription) {
      await unlistens.get(subscription)?.()
      unlistens.delete(subscription)
    },
    async copyAside() {
      if (directory === null) throw new Error('A database in memory has no files.')
      return copyAside(pglite, directory)
    },
    close: () => pglite.close(),
  }
}

/**
 * Copies the database beside itself, because the service may be allowed to write nowhere else. No statement runs
 * meanwhile, so the copy is what a crash at this moment would leave. Removes earlier copies that were not moved away.
 */
async function copyAside(pglite: PGlite, directory: string): Promise<string> {
  const left = (await readdir(directory)).filter((name) => name.startsWith(COPY_PREFIX))
  for (const name of left) await rm(join(directory, name), { recursive: true, force: true })
  const copy = join(directory, `${COPY_PREFIX}${process.pid}`)
  await pglite
    .transaction(() => copyData(dataOf(directory), copy))
    .catch(async (error: unknown) => {
      // A disk that is full would stay full.
      await rm(copy, { recursive: true, force: true })
      const reason = `The database cannot be copied beside itself: ${String(error)}.`
      throw new BackupError(`${reason} Correct that, or stop the service: the backup is then copied directly.`)
    })
  return copy
}

function serve(port: NonNullable<typeof parentPort>, { directory }: ThreadData): void {
  const methods = makeMethods(directory, (message) => port.postMessage(message))
  const run = async ({ id, method, args }: ThreadCall): Promise<ThreadMessage> => {
    try {
      // The sender has checked the arguments against the method.
      const call = methods[method] as (...given: readonly unknown[]) => Promise<unknown>
      return { id, value: await call(...args) }
    } catch (error) {
      return { id, error: toPlainError(error) }
    }
  }
  port.on('message', (call: ThreadCall) => void run(call).then((answer) => port.postMessage(answer)))
}

if (parentPort) serve(parentPort, workerData as ThreadData)
