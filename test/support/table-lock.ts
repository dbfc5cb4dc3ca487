import pg from 'pg'
import type { Database } from '../../src/database/client.ts'
import type { Secret } from '../../src/kernel/secret.ts'

/** Releases a lock of a real Postgres server that a connection of its own holds. */
export type Release = () => Promise<void>

/**
 * Locks a table until it is released: `EXCLUSIVE` blocks writers, `ACCESS EXCLUSIVE` readers too (PostgreSQL, "Explicit
 * Locking").
 */
export function lockTable(url: Secret, table: string, mode: 'EXCLUSIVE' | 'ACCESS EXCLUSIVE'): Promise<Release> {
  return lockBy(url, `LOCK TABLE ${table} IN ${mode} MODE`)
}

/** Locks the newest row of a table, so that writers of it wait. */
export function lockNewestRow(url: Secret, table: string): Promise<Release> {
  return lockBy(url, `SELECT FROM ${table} ORDER BY id DESC LIMIT 1 FOR UPDATE`)
}

/**
 * The number of statements at a Postgres server that wait for a lock. It is asked over the connections of a service,
 * which would take a database that answers none of its statements for a silent one.
 */
export async function countWaiting({ prisma }: Database): Promise<number> {
  const [row] = await prisma.$queryRaw<{ count: number }[]>`
    SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  return row?.count ?? 0
}

async function lockBy(url: Secret, statement: string): Promise<Release> {
  const client = new pg.Client(url.reveal())
  await client.connect()
  await client.query(`BEGIN; ${statement}`)
  return async () => {
    await client.query('ROLLBACK')
    await client.end()
  }
}
