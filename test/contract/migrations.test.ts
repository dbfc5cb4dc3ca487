import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { PGlite } from '@electric-sql/pglite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { diffSchema, migrationList, noFilters, withSchemaEngine } from '../../prisma/schema-diff.ts'
import { openMemory } from '../../src/database/embedded/pglite.ts'
import { migrate, migrationsDirectory, readMigrations } from '../../src/database/migrations.ts'
import type { Migration, MigrationConnection } from '../../src/database/migrations.ts'
import { loadMigrated } from '../support/database.ts'

const schemaFile = fileURLToPath(new URL('../../prisma/schema.prisma', import.meta.url))
let pglite: PGlite
const connection: MigrationConnection = {
  query: async (sql, parameters = []) => (await pglite.query<Record<string, unknown>>(sql, [...parameters])).rows,
  script: async (sql) => void (await pglite.exec(sql)),
}
const dropTables = () => connection.script('DROP SCHEMA public CASCADE; CREATE SCHEMA public')

beforeAll(async () => {
  pglite = await loadMigrated()
})
beforeEach(dropTables)
afterAll(() => pglite.close())

function migration(name: string, sql: string, checksum = name): Migration {
  return { name, sql, checksum }
}

describe('the migrations', () => {
  it('produce schema.prisma, so that only a change of it is missing; then run `npm run migration -- NAME`', async () => {
    const model = 'model Organization {'
    const changed = (await readFile(schemaFile, 'utf8')).replace(model, `${model}\n  motto String?`)
    const statements = (await diffSchema(changed, { database: pglite })).replaceAll(/^--.*$/gm, '').trim()
    expect(statements).toBe('ALTER TABLE "organizations" ADD COLUMN     "motto" TEXT;')
  })
})

describe('the prepared empty database', () => {
  it('has the first migrations as they are now; after another change run `npm run release:database`', async () => {
    await using prepared = await openMemory()
    const { rows } = await prepared.query<{ name: string; checksum: string }>(
      'SELECT migration_name AS name, checksum FROM "_prisma_migrations" ORDER BY migration_name',
    )
    const migrations = (await readMigrations()).map(({ name, checksum }) => ({ name, checksum }))
    expect(rows.length).toBeGreaterThan(0)
    expect(rows).toEqual(migrations.slice(0, rows.length))
  })
})

describe('the migrator and `prisma migrate deploy` can be used on the same database', () => {
  // One test, because to apply all migrations takes half a second of CPU time.
  it('each has nothing to do after the other, and both leave the same table of migrations', async () => {
    const migrationsList = await migrationList(migrationsDirectory)
    await withSchemaEngine((engine) => engine.applyMigrations({ migrationsList, filters: noFilters }), pglite)
    expect(await migrate(connection, await readMigrations())).toEqual([])

    const prismaTable = await migrationsTable()
    await dropTables()
    await migrate(connection, await readMigrations())
    expect(await migrationsTable()).toEqual(prismaTable)

    const [diagnosis, deployed] = await withSchemaEngine(async (engine) => {
      const input = { migrationsList, optInToShadowDatabase: false, filters: noFilters }
      return [
        await engine.diagnoseMigrationHistory(input),
        await engine.applyMigrations({ migrationsList, filters: noFilters }),
      ]
    }, pglite)
    expect(diagnosis).toEqual({
      history: null,
      failedMigrationNames: [],
      editedMigrationNames: [],
      hasMigrationsTable: true,
    })
    expect(deployed.appliedMigrationNames).toEqual([])
  })
})

async function migrationsTable() {
  return {
    columns: await connection.query(
      `SELECT column_name, data_type, character_maximum_length, is_nullable, column_default
         FROM information_schema.columns WHERE table_name = '_prisma_migrations' ORDER BY ordinal_position`,
    ),
    indexes: await connection.query(`SELECT indexdef FROM pg_indexes WHERE tablename = '_prisma_migrations'`),
    rows: await connection.query(
      `SELECT migration_name, checksum, applied_steps_count, logs, rolled_back_at, finished_at >= started_at AS finished
         FROM "_prisma_migrations" ORDER BY migration_name`,
    ),
  }
}

describe('the migrator', () => {
  const first = migration('1_first', 'CREATE TABLE one (id int); INSERT INTO one VALUES (1);')
  const second = migration('2_second', 'CREATE TABLE two (id int);')

  it('applies each missing migration once, in order', async () => {
    expect(await migrate(connection, [first])).toEqual(['1_first'])
    expect(await migrate(connection, [first, second])).toEqual(['2_second'])
    expect(await migrate(connection, [first, second])).toEqual([])
    expect(await connection.query('SELECT * FROM one')).toEqual([{ id: 1 }])
  })

  it('rolls back a migration that fails, and keeps the earlier ones', async () => {
    const broken = migration('2_broken', 'CREATE TABLE two (id int); SELECT nothing;')
    await expect(migrate(connection, [first, broken])).rejects.toThrow(/2_broken failed and changed nothing: .*nothing/)
    expect(await migrate(connection, [first, second])).toEqual(['2_second'])
  })

  it('accepts a newer migration that this version does not know', async () => {
    await migrate(connection, [first, second])
    expect(await migrate(connection, [first])).toEqual([])
  })

  it.each<[string, Migration[], string, RegExp]>([
    ['has a changed file', [{ ...first, checksum: 'other' }], '', /1_first was changed after it was applied/],
    [
      'this version does not know, although it has newer ones',
      [second],
      '',
      /has the migration 1_first, which this version does not know/,
    ],
    [
      'failed before its end',
      [first],
      'UPDATE "_prisma_migrations" SET finished_at = NULL',
      /1_first failed before its end/,
    ],
  ])('refuses a database with a migration that %s', async (_what, migrations, change, message) => {
    await migrate(connection, [first])
    await connection.script(change)
    await expect(migrate(connection, migrations)).rejects.toThrow(message)
    expect(await connection.query(`SELECT 1 FROM pg_tables WHERE tablename = 'two'`)).toEqual([])
  })

  it('applies a migration again that was marked as rolled back by hand', async () => {
    await migrate(connection, [first])
    await connection.script(
      'DROP TABLE one; UPDATE "_prisma_migrations" SET rolled_back_at = now(), finished_at = NULL',
    )
    expect(await migrate(connection, [first])).toEqual(['1_first'])
  })
})
