import { describe, expect, it } from 'vitest'
import { readMigrations } from '../../src/database/migrations.ts'

/** The last migration of the version before this one, which must go on working on a migrated database. */
const LAST_OF_BEFORE = '20261122031916_browser_devices'

/**
 * The statements of a migration that the version before it may not survive. That version writes no new column, knows no
 * new value of an enum, and relies on all that it knows. `plainIndexes`: the indexes that are not unique. It is slower
 * without one, and otherwise works as before.
 */
function findBreaks(sql: string, plainIndexes: ReadonlySet<string> = new Set()): string[] {
  const statements = sql
    .replace(/^--.*$/gm, '')
    .replaceAll(/\$\$.*?\$\$/gs, '$$$$')
    .split(/;\s*$/m)
    .map((statement) => statement.trim().replace(/\s+/g, ' '))
    .filter((statement) => statement !== '')
  const newTables = new Set(statements.flatMap((statement) => /^CREATE TABLE "(\w+)"/.exec(statement)?.[1] ?? []))
  return statements.filter((statement) => {
    const [, dropped = ''] = /^DROP INDEX "(\w+)"$/.exec(statement) ?? []
    return !plainIndexes.has(dropped) && !isAddition(statement, newTables)
  })
}

function isAddition(statement: string, newTables: ReadonlySet<string>): boolean {
  const [, table = ''] = /^(?:ALTER TABLE|INSERT INTO|CREATE (?:UNIQUE )?INDEX "\w+" ON) "(\w+)"/.exec(statement) ?? []
  if (newTables.has(table)) return true
  if (/^CREATE (TABLE|TYPE|INDEX|FUNCTION|TRIGGER) /.test(statement)) return true
  return /^ALTER TABLE/.test(statement) && columnsOf(statement).every(isOptionalColumn)
}

const columnsOf = (statement: string) => statement.replace(/^ALTER TABLE "\w+" /, '').split(/, (?=[A-Z])/)

const isOptionalColumn = (clause: string) => /^ADD COLUMN /.test(clause) && !/NOT NULL(?!.*DEFAULT)/.test(clause)

/** The names of the indexes that migrations create, except unique ones. */
const findPlainIndexes = (sql: string) => [...sql.matchAll(/^CREATE INDEX "(\w+)"/gm)].map(([, name = '']) => name)

describe('the migrations since the version before', () => {
  it('only add, so that both versions can run side by side, and the older one can come back', async () => {
    const migrations = await readMigrations()
    expect(migrations.map(({ name }) => name)).toContain(LAST_OF_BEFORE)
    const plainIndexes = new Set(migrations.flatMap(({ sql }) => findPlainIndexes(sql)))
    const breaks = migrations
      .filter(({ name }) => name > LAST_OF_BEFORE)
      .flatMap(({ sql }) => findBreaks(sql, plainIndexes))
    expect(breaks).toEqual([])
  })

  it.each([
    'ALTER TABLE "teams" DROP COLUMN "name";',
    'ALTER TABLE "teams" ADD COLUMN "a" TEXT NOT NULL;',
    'ALTER TABLE "teams" ADD COLUMN "a" TEXT, ALTER COLUMN "name" DROP NOT NULL;',
    'ALTER TABLE "teams" RENAME COLUMN "name" TO "title";',
    'ALTER TYPE "Dialect" ADD VALUE \'other\';',
    'CREATE UNIQUE INDEX "a" ON "teams"("name");',
    'DROP INDEX "a";',
    'DROP TABLE "teams";',
    'INSERT INTO "teams" SELECT * FROM "organizations";',
  ])('would be reported for %s', (sql) => {
    expect(findBreaks(sql)).toHaveLength(1)
  })

  it.each([
    'ALTER TABLE "teams" ADD COLUMN     "a" TEXT NOT NULL DEFAULT \'UTC\',\nADD COLUMN     "b" INTEGER;',
    '-- CreateTable\nCREATE TABLE "new" (\n"id" UUID NOT NULL\n);\n\nCREATE UNIQUE INDEX "a" ON "new"("id");',
    'CREATE INDEX "a" ON "teams"("name");',
    'DROP INDEX "plain";',
    'CREATE TABLE "new" (\n"id" UUID NOT NULL\n);\nINSERT INTO "new" SELECT id FROM "teams";',
    'CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\nRETURN NULL;\nEND\n$$;',
  ])('may contain %s', (sql) => {
    expect(findBreaks(sql, new Set(['plain']))).toEqual([])
  })
})
