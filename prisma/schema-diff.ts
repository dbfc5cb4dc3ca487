import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { PGlite } from '@electric-sql/pglite'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import { PrismaPGlite } from 'pglite-prisma-adapter'
import type * as EnginePackage from '@prisma/schema-engine-wasm'
import type { MigrationList, SchemaEngine } from '@prisma/schema-engine-wasm'
import { migrationsDirectory, readMigrations } from '../src/database/migrations.ts'

/**
 * The SQL that takes a database with all of the migrations to `schema`; empty when they agree. Development only. Tries the
 * migrations in `database`, which must be empty; in one of its own unless given.
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

/** Prisma's engine over the database given, or over an empty one in memory. */
export async function withSchemaEngine<T>(use: (engine: SchemaEngine) => Promise<T>, database?: PGlite): Promise<T> {
  const pglite = database ?? (await PGlite.create())
  try {
    const { SchemaEngine: Engine } = await loadEngine()
    return await use(await Engine.new({ datamodels: undefined }, () => undefined, adapterFactory(pglite)))
  } finally {
    if (!database) await pglite.close()
  }
}

/** The engine's shadow database, where it tries the migrations, is the same one: it never looks at both. */
function adapterFactory(pglite: PGlite) {
  const factory = new PrismaPGlite(pglite)
  return bindMigrationAwareSqlAdapterFactory({
    provider: factory.provider,
    adapterName: factory.adapterName,
    connect: () => connect(factory, pglite),
    connectToShadowDb: () => connect(factory, pglite),
  })
}

/** The package's adapter does not wait for its scripts, nor hear of their errors. */
async function connect(factory: PrismaPGlite, pglite: PGlite) {
  const adapter = await factory.connect()
  return Object.assign(adapter, { executeScript: async (sql: string) => void (await pglite.exec(sql)) })
}

type EngineModule = typeof EnginePackage & { __wbg_set_wasm(wasm: WebAssembly.Exports): void }

let engine: Promise<EngineModule> | undefined

function loadEngine(): Promise<EngineModule> {
  return (engine ??= instantiateEngine())
}

/** By hand, because the package's entry imports its WebAssembly as a module, which Node does only behind a flag. */
async function instantiateEngine(): Promise<EngineModule> {
  // Where the engine leaves the message of a panic; it looks for this name.
  Object.assign(globalThis, {
    PRISMA_WASM_PANIC_REGISTRY: { set_message: (message: string) => console.error(message) },
  })
  const path = createRequire(import.meta.url).resolve('@prisma/schema-engine-wasm/schema_engine_bg')
  // The subpath has the exports of the package's entry; its own types leave out the loader's hook.
  const module = (await import(path)) as EngineModule
  const bytes = await readFile(path.replace(/\.js$/, '.wasm'))
  const { instance } = await WebAssembly.instantiate(bytes, { './schema_engine_bg.js': { ...module } })
  module.__wbg_set_wasm(instance.exports)
  // wasm-bindgen's start function, which the package's entry would call.
  const { __wbindgen_start: start } = instance.exports
  if (typeof start === 'function') Reflect.apply(start, undefined, [])
  return module
}
