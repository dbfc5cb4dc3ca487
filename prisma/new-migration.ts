// `npm run migration -- NAME` writes a migration from the existing migrations to schema.prisma.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { migrationsDirectory } from '../src/database/migrations.ts'
import { diffSchema } from './schema-diff.ts'

const schemaFile = fileURLToPath(new URL('schema.prisma', import.meta.url))

const name = process.argv[2]
if (!name || !/^[a-z0-9_]+$/.test(name)) stop('Usage: npm run migration -- NAME (lower-case letters, digits and _).')

const sql = await diffSchema(await readFile(schemaFile, 'utf8'))
if (sql === '') stop('Nothing to do: the migrations already produce schema.prisma.')

const directory = `${migrationsDirectory}${timestamp(new Date())}_${name}`
await mkdir(directory)
await writeFile(`${directory}/migration.sql`, sql)
console.log(`Wrote ${directory}/migration.sql. Review it: it is applied as it is.`)

/** The time in UTC as Prisma names its migrations: 20260131235959. */
function timestamp(now: Date): string {
  return now.toISOString().replace(/\D/g, '').slice(0, 14)
}

function stop(message: string): never {
  console.error(message)
  process.exit(1)
}
