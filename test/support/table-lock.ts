import pg from 'pg'
import type { Secret } from '../../src/kernel/secret.ts'

/** A lock on a table of a real Postgres server, held by a connection of its own. */
export type TableLock = {
  /** The number of statements that wait for it. */
  waiting(): Promise<number>
  release(): Promise<void>
}

/**
 * Locks a table until `release`: `EXCLUSIVE` blocks writers, `ACCESS EXCLUSIVE` readers too (PostgreSQL, "Explicit
 * Locking").
 */
export async function lockTable(
  url: Secret,
  table: string,
  mode: 'EXCLUSIVE' | 'ACCESS EXCLUSIVE',
): Promise<TableLock> {
  const client = new pg.Client(url.reveal())
  await client.connect()
  await client.query(`BEGIN; LOCK TABLE ${table} IN ${mode} MODE`)
  return {
    async waiting() {
      const { rows } = await client.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM pg_locks WHERE relation = $1::regclass AND NOT granted',
        [table],
      )
      return rows[0]?.count ?? 0
    },
    async release() {
      await client.query('ROLLBACK')
      await client.end()
    },
  }
}

/** Locks the newest row of a table, so that writers of it wait; resolves with the function that releases it. */
export async function lockNewestRow(url: Secret, table: string): Promise<() => Promise<void>> {
  const client = new pg.Client(url.reveal())
  await client.connect()
  await client.query(`BEGIN; SELECT FROM ${table} ORDER BY id DESC LIMIT 1 FOR UPDATE`)
  return async () => {
    await client.query('ROLLBACK')
    await client.end()
  }
}
