// npm run migration -- NAME: writes the migration that takes the existing ones to schema.prisma.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { migrationsDirectory } from '../src/database/migrations.ts'
import { diffSchema, lockfile } from './schema-diff.ts'

const schemaFile = fileURLToPath(new URL('schema.prisma', import.meta.url))

const name = process.argv[2]
if (!name || !/^[a-z0-9_]+$/.test(name)) stop('usage: npm run migration -- NAME  (lower-case letters, digits, _)')

await mkdir(migrationsDirectory, { recursive: true })
const sql = await diffSchema(await readFile(schemaFile, 'utf8'))
if (sql === '') stop('The migrations and schema.prisma agree: there is nothing to migrate.')

const directory = `${migrationsDirectory}${timestamp(new Date())}_${name}`
await mkdir(directory)
await writeFile(`${directory}/migration.sql`, sql)
await writeFile(`${migrationsDirectory}migration_lock.toml`, lockfile)
console.log(`Wrote ${directory}/migration.sql. Read it: it is applied as it stands.`)

/** UTC, as Prisma names its migrations: 20260131235959. */
function timestamp(now: Date): string {
  return now.toISOString().replace(/\D/g, '').slice(0, 14)
}

function stop(message: string): never {
  console.error(message)
  process.exit(1)
}
