import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { PGlite } from '@electric-sql/pglite'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import type * as EnginePackage from '@prisma/schema-engine-wasm'
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm'
import { migrationsDirectory, readMigrations } from '../src/database/migrations.ts'

/**
 * Returns the SQL that changes a database with all migrations to `schema`; empty when there is no difference. For
 * development only. The migrations are applied in `database`, which must be empty; without it, in a new database in
 * memory.
 */
export async function diffSchema(schema: string, { database }: { database?: PGlite } = {}): Promise<string> {
  const from = await migrationList(migrationsDirectory)
  const { stdout } = await withSchemaEngine(
    (engine) =>
      engine.diff({
        from: { tag: 'migrations', ...from },
        to: { tag: 'schemaDatamodel', files: [{ path: 'schema.prisma', content: schema }] },
        script: true,
        exitCode: null,
        filters: noFilters,
      }),
    database,
  )
  return isEmpty(stdout) ? '' : (stdout ?? '')
}

/** Leaves out no table and no enum. */
export const noFilters = { externalTables: [], externalEnums: [] }

/** Without a difference, the engine returns a script that has only comments. */
function isEmpty(script: string | null): boolean {
  return (script ?? '').split('\n').every((line) => line.trim() === '' || line.startsWith('--'))
}

/** Reads the migrations in the format of Prisma's engine. */
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

/** The content of migration_lock.toml, which Prisma's commands require in the migrations folder. */
const lockfile = 'provider = "postgresql"\n'

/** Runs Prisma's schema engine on `database`; without it, on a new database in memory. */
export async function withSchemaEngine<T>(use: (engine: SchemaEngine) => Promise<T>, database?: PGlite): Promise<T> {
  const pglite = database ?? (await PGlite.create())
  try {
    const { SchemaEngine: Engine } = await loadEngine()
    return await use(await Engine.new({ datamodels: undefined }, () => undefined, adapterFactory(pglite)))
  } finally {
    if (!database) await pglite.close()
  }
}

/**
 * The engine's shadow database, in which it applies the migrations, is the same database: the engine never uses both.
 */
function adapterFactory(pglite: PGlite) {
  const factory = new PrismaPGlite(pglite)
  return bindMigrationAwareSqlAdapterFactory({
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: () => connect(factory, pglite),
    connectToShadowDb: () => connect(factory, pglite),
  })
}

/** Replaces the adapter's `executeScript`, which neither waits for the script nor reports its errors. */
async function connect(factory: PrismaPGlite, pglite: PGlite) {
  const adapter = await factory.connect()
  return Object.assign(adapter, { executeScript: async (sql: string) => void (await pglite.exec(sql)) })
}

type EngineModule = typeof EnginePackage & { __wbg_set_wasm(wasm: WebAssembly.Exports): void }

let engine: Promise<EngineModule> | undefined

function loadEngine(): Promise<EngineModule> {
  return (engine ??= instantiateEngine())
}

/**
 * Loads the engine without the package's entry file, which imports WebAssembly as a module: Node needs a flag for that.
 */
async function instantiateEngine(): Promise<EngineModule> {
  // The engine calls this global with the message of a panic.
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => console.error(message) },
  })
  const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  // This subpath has the exports of the package's entry, but its types do not declare the loader's hook.
  const module = (await import(path)) as EngineModule
  const bytes = await readFile(path.replace(/\.js$/, '.wasm'))
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': { ...module } })
  module.__wbg_set_wasm(instance.exports)
  // The start function of wasm-bindgen, which the package's entry file would call.
  const { __wbindgen_start: start } = instance.exports
  if (typeof start === 'function') Reflect.apply(start, undefined, [])
  return module
}
