/** The database ignores a partial index where the conditions of a search do not imply those of the index. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PrismaClient } from '../../generated/prisma/client.ts'
import { makeAgentSessionStore } from '../../src/control/agent-sessions/store.ts'
import { makeAuditStore } from '../../src/control/audit/store.ts'
import type { AuditQuery } from '../../src/control/audit/store.ts'
import { sql } from '../../src/database/sql.ts'
import { freshDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'

const ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'

let database: TestDatabase

beforeAll(async () => (database = await freshDatabase()))
afterAll(() => database.close())

/** Rows of earlier tests leave empty pages in the indexes, which the database would count as a cost. */
async function prepareForPlans(table: string): Promise<void> {
  await database.prisma.$executeRawUnsafe(`REINDEX TABLE ${table}`)
  await database.prisma.$executeRawUnsafe(`ANALYZE ${table}`)
}

/** A client whose statements return the plan of the database for them. Every account is found, with the same id. */
function explainingClient(): PrismaClient {
  const { prisma } = database
  const used = {
    account: { findUnique: async () => ({ id: ID }) },
    $queryRaw: (...[texts, ...values]: Parameters<typeof sql>) =>
      prisma.$queryRaw(sql`EXPLAIN ${sql(texts, ...values)}`),
  }
  // The stores use no other member.
  return used as unknown as PrismaClient
}

describe('the index of changes', () => {
  const INDEX = 'audit_events_of_changes_idx'

  /** Teams with many sign-ins and few changes. */
  beforeAll(async () => {
    await database.prisma.$executeRaw`
      INSERT INTO audit_events (at, kind, account_id, team_id)
      SELECT now(), CASE WHEN i % 1000 = 0 THEN 'invitation.created' ELSE 'device_session.opened' END,
        gen_random_uuid(), CASE WHEN i % 20 = 0 THEN ${ID}::uuid ELSE gen_random_uuid() END
      FROM generate_series(1, 10000) AS i`
    await prepareForPlans('audit_events')
  })

  async function planOf(wanted: Partial<AuditQuery>): Promise<string> {
    const query = { actor: null, action: null, from: null, to: null, before: null, limit: 50, ...wanted }
    return JSON.stringify(await makeAuditStore({ prisma: explainingClient() }).find(ID, query))
  }

  it.each<[name: string, wanted: Partial<AuditQuery>]>([
    ['a kind of change', { action: 'invitation.created' }],
    ['kinds of changes', { action: 'invitation' }],
    ['what the directory file changed', { actor: 'file' }],
    ['what an admin did for others', { actor: 'ada@example.com' }],
  ])('is read by a search for %s', async (_name, wanted) => {
    expect(await planOf(wanted)).toContain(INDEX)
  })

  it('is not read by a search for sign-ins', async () => {
    expect(await planOf({ action: 'device_session.opened' })).not.toContain(INDEX)
  })
})

describe('the index of the sessions of service accounts', () => {
  it('is read by a list of the sessions of one', async () => {
    await database.prisma.$executeRaw`
      INSERT INTO agent_sessions (team, account_id, session_id, service_account, started_at, last_active_at, model)
      SELECT '@acme/core', gen_random_uuid(), 'run', CASE WHEN i % 1000 = 0 THEN 'service:ci' END, now(), now(), 'm'
      FROM generate_series(1, 5000) AS i`
    await prepareForPlans('agent_sessions')
    const query = { team: '@acme/core', account: 'service:ci', before: null, limit: 50 }
    const plan = await makeAgentSessionStore({ prisma: explainingClient() }).list(query, new Date())
    expect(JSON.stringify(plan)).toContain('agent_sessions_of_service_accounts_idx')
  })
})
