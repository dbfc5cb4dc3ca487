import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { PGlite } from '@electric-sql/pglite'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm'
import { migrationsDirectory, readMigrations } from '../src/migrations.ts'

/** The SQL that takes a database with all of `migrations` to `schema`; empty when they agree. Development only. */
export async function diffSchema(schema: string, migrations = migrationsDirectory): Promise<string> {
  const from = await migrationList(migrations)
  return withSchemaEngine(async (engine) => {
    const { stdout } = await engine.diff({
      from: { tag: 'migrations', ...from },
      to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schema }] },
      script: true,
      exitCode: null,
      filters: noFilters,
    })
    return isEmpty(stdout) ? '' : (stdout ?? '')
  })
}

/** What the engine takes where a set of tables or enums may be left out. */
export const noFilters = { externalTables: [], externalEnums: [] }

/** A script of nothing but comments is how the engine says that there is no difference. */
function isEmpty(script: string | null): boolean {
  return (script ?? '').split('\n').every((line) => line.trim() === '' || line.startsWith('--'))
}

/** The migrations in the form that Prisma's engine takes. */
export async function migrationList(directory: string): Promise<MigrationList> {
  const migrations = await readMigrations(directory)
  return {
    baseDir: directory,
    lockfile: { path: 'migration_lock.toml', content: lockfile },
    shadowDbInitScript: '',
    migrationDirectories: migrations.map(({ name, sql }) => ({
      path: name,
      migrationFile: { path: 'migration.sql', content: { tag: 'ok', value: sql } },
    })),
  }
}

/** Prisma's own commands refuse a folder of migrations without it. */
export const lockfile = 'provider = "postgresql"\n'

/** Prisma's engine over an empty database in memory, or over the one given. */
export async function withSchemaEngine<T>(use: (engine: SchemaEngine) => Promise<T>, database?: PGlite): Promise<T> {
  const pglite = database ?? (await PGlite.create())
  try {
    const engine = await startEngine(pglite)
    try {
      return await use(engine)
    } finally {
      engine.free()
    }
  } finally {
    if (!database) await pglite.close()
  }
}

type EngineModule = typeof import('@prisma/schema-engine-wasm') & { __wbg_set_wasm(wasm: WebAssembly.Exports): void }

async function startEngine(pglite: PGlite): Promise<SchemaEngine> {
  const { SchemaEngine: Engine } = await loadEngine()
  const factory = bindMigrationAwareSqlAdapterFactory(new PrismaPGlite(pglite))
  return Engine.new({ datamodels: undefined }, () => undefined, factory)
}

/** By hand, because the package's entry imports its WebAssembly as a module, which Node does only behind a flag. */
async function loadEngine(): Promise<EngineModule> {
  const require = createRequire(import.meta.url)
  const path = require.resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  // The subpath has the exports of the package's entry; its own types leave out the loader's hook.
  const engine = (await import(path)) as EngineModule
  const bytes = await readFile(path.replace(/\.js$/, '.wasm'))
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': { ...engine } })
  engine.__wbg_set_wasm(instance.exports)
  // wasm-bindgen's start function, which the package's entry would call.
  const { __wbindgen_start: start } = instance.exports
  if (typeof start === 'function') start()
  return engine
}
