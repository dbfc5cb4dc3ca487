import { setTimeout as sleep } from 'node:timers/promises'
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import { OperatorError } from '../kernel/operator-error.ts'
import type { Statements } from './statements.ts'

/** The client of a transaction, or of a database where a function takes both. */
export type Transaction = Prisma.TransactionClient

/** An open database with a current schema. */
export type Database = Statements & {
  readonly prisma: PrismaClient
  /** Whether the database answers within 1.5 s, and can be written. Never rejects. */
  ping(): Promise<boolean>
  /** Calls `onNotice` for each notification on a channel (PostgreSQL, NOTIFY) until the database or this is closed. */
  listen(channel: string, onNotice: OnNotice): Listening
  /** Copies an embedded database while it is in use, and resolves with where the copy is; null for all others. */
  readonly copyFiles: (() => Promise<string>) | null
  /**
   * Resolves with the reason when an embedded database has ended by itself, and stays pending otherwise. It then
   * remains unavailable in this process; its rows are as after a `kill -9`.
   */
  readonly crashed: Promise<DatabaseCrashError>
  /**
   * Waits for running statements, at a Postgres server for a second at most, and closes all connections. May be called
   * again.
   */
  close(): Promise<void>
}

/**
 * Takes the payload of a notification; null: from now on notifications arrive, and earlier ones may have been missed.
 */
export type OnNotice = (payload: string | null) => void

export type Listening = {
  /** Whether notifications arrive now, as far as is known. */
  isConnected(): boolean
  close(): void
}

/** The database cannot be opened. The message names the database and the reason, without the password. */
export class DatabaseOpenError extends OperatorError {
  override readonly name = 'DatabaseOpenError'
}

/** An embedded database has ended by itself. */
export class DatabaseCrashError extends OperatorError {
  override readonly name = 'DatabaseCrashError'
}

const PING_TIMEOUT_MS = 1500

/** Makes `Database.ping`. Concurrent calls share one query, so that calls do not pile up while a database hangs. */
export function makePing(query: () => Promise<unknown>): () => Promise<boolean> {
  let running: Promise<boolean> | null = null
  return () => {
    running ??= query()
      .then(() => true)
      .catch(() => false)
      .finally(() => (running = null))
    return Promise.race([running, sleep(PING_TIMEOUT_MS, false, { ref: false })])
  }
}

/** Makes a function that runs `run` on the first call; later calls return the same promise. */
export function once(run: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null
  return () => (done ??= run())
}
