/** A deployment moves from an embedded database to a Postgres server: `svc backup`, and `svc restore` there. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/database/client.ts'
import { openDatabase } from '../../src/database/open.ts'
import { rawSql, sql } from '../../src/database/sql.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { runOperatorCommand } from '../support/operator-command.ts'
import { startPostgres } from '../support/postgres.ts'
import type { TestPostgres } from '../support/postgres.ts'
import { newFolder } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { spend } from '../support/spending.ts'

const ADA = 'ada@example.com'

let folder: Awaited<ReturnType<typeof newFolder>>
let postgres: TestPostgres

beforeAll(async () => {
  folder = await newFolder()
  postgres = await startPostgres()
})
afterAll(async () => {
  await postgres.stop()
  await folder[Symbol.asyncDispose]()
})

const embedded = () => ({ kind: 'embedded', directory: path.join(folder.path, 'db') }) as const
const backup = () => path.join(folder.path, 'backup')

const restore = (url: Secret) => runOperatorCommand({ SVC_DATABASE_URL: url.reveal() }, 'restore', backup())

/** Uses a deployment with an embedded database, and stops it. Resolves with Ada's refresh token. */
async function useDeployment(): Promise<string> {
  await using service = await startService({ database: await openDatabase(embedded()) })
  const { accessToken, refreshToken } = await service.signIn(ADA, { deviceName: 'Ada’s “laptop”\\' })
  const client = service.clientOf(accessToken)
  const { data: key } = await client.POST('/v1/keys', { body: { name: 'first' } })
  await client.POST('/v1/keys/{id}/rotate', { params: { path: { id: key?.info.id ?? '' } }, body: {} })
  const { id: accountId } = await service.database.prisma.account.findUniqueOrThrow({ where: { email: ADA } })
  await spend(service, 1.5e9, { accountId, call: { requestId: 'req_1' } })
  await spend(service, 2e9, { accountId, call: { requestId: 'req_2' } })
  return refreshToken
}

/** All rows of all tables. */
async function rowsOf({ query }: Database): Promise<Readonly<Record<string, string[]>>> {
  const tables = await query<{ name: string }>(
    sql`SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_prisma_migrations' ORDER BY 1`,
  )
  const read = tables.map(async ({ name }) => {
    const rows = await query<{ row: string }>(sql`SELECT to_jsonb(t)::text AS row FROM ${rawSql(name)} t`)
    return [name, rows.map(({ row }) => row).toSorted()] as const
  })
  return Object.fromEntries(await Promise.all(read))
}

it('has all rows of the embedded database, and goes on behind them', { timeout: 240_000 }, async () => {
  const refreshToken = await useDeployment()
  await runOperatorCommand({ SVC_DATABASE_URL: `embedded:${embedded().directory}` }, 'backup', backup())
  const url = await postgres.newEmptyDatabase()
  expect(await restore(url)).toContain('The database of SVC_DATABASE_URL is filled from')

  const [source, target] = await Promise.all([openDatabase(embedded()), openDatabase({ kind: 'postgres', url })])
  const rows = await rowsOf(source)
  expect(rows['api_keys']).toHaveLength(2)
  expect(rows['usage_caller_months']).not.toEqual([])
  expect(await rowsOf(target)).toEqual(rows)
  await source.close()

  await using service = await startService({ database: target })
  const refreshed = await service.client.POST('/v1/auth/token/refresh', { body: { account: ADA, refreshToken } })
  expect(refreshed.response.status).toBe(200)
  await service.signIn(ADA, { deviceId: 'another' })
  await expect(restore(url)).rejects.toThrow('is in use already')
})

it('is not filled from a damaged backup', async () => {
  const file = path.join(backup(), 'data/PG_VERSION')
  writeFileSync(file, `${readFileSync(file, 'utf8')}0`)
  const url = await postgres.newEmptyDatabase()
  await expect(restore(url)).rejects.toThrow('of the backup is missing or damaged')
})
