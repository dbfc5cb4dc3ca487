import { afterAll, beforeAll, expect, it } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { makeAuditStore } from '../../src/control/audit/store.ts'
import type { AuditQuery } from '../../src/control/audit/store.ts'
import { sql } from '../../src/database/sql.ts'
import { freshDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'

const INDEX = 'audit_events_of_changes_idx'
const TEAM = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'

let database: TestDatabase

/** Teams with many sign-ins and few changes. */
beforeAll(async () => {
  database = await freshDatabase()
  await database.prisma.$executeRaw`
    INSERT INTO audit_events (at, kind, account_id, team_id)
    SELECT now(), CASE WHEN i % 1000 = 0 THEN 'invitation.created' ELSE 'device_session.opened' END,
      gen_random_uuid(), CASE WHEN i % 20 = 0 THEN ${TEAM}::uuid ELSE gen_random_uuid() END
    FROM generate_series(1, 10000) AS i`
  await database.prisma.$executeRaw`ANALYZE audit_events`
})
afterAll(() => database.close())

/** The plan of the database for a search. */
async function planOf(wanted: Partial<AuditQuery>): Promise<string> {
  const { prisma } = database
  // Only these two members are used.
  const explaining = {
    account: { findUnique: async () => ({ id: TEAM }) },
    $queryRaw: (...[texts, ...values]: Parameters<typeof sql>) =>
      prisma.$queryRaw(sql`EXPLAIN ${sql(texts, ...values)}`),
  } as unknown as PrismaClient
  const query = { actor: null, action: null, from: null, to: null, before: null, limit: 50, ...wanted }
  return JSON.stringify(await makeAuditStore({ prisma: explaining }).find(TEAM, query))
}

it.each<[name: string, wanted: Partial<AuditQuery>]>([
  ['a kind of change', { action: 'invitation.created' }],
  ['kinds of changes', { action: 'invitation' }],
  ['what the directory file changed', { actor: 'file' }],
  ['what an admin did for others', { actor: 'ada@example.com' }],
])('a search for %s reads the index of changes', async (_name, wanted) => {
  expect(await planOf(wanted)).toContain(INDEX)
})

it('a search for sign-ins does not read the index of changes', async () => {
  expect(await planOf({ action: 'device_session.opened' })).not.toContain(INDEX)
})
