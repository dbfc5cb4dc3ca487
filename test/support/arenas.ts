import { openDatabase } from '../../src/database/open.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { testClock } from './clock.ts'
import { startPostgres } from './postgres.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

/** What races run against: the services that share a database. */
export type Arena = AsyncDisposable & {
  readonly services: readonly TestService[]
  /** The address of the real server's database; null: it is embedded. */
  readonly url: Secret | null
  /** The services in turn. */
  serviceFor(index: number): TestService
}

/** For `describe.each`: the name of an arena, and what opens it with a directory. */
export const ARENAS: readonly (readonly [string, (directory: string) => Promise<Arena>])[] = [
  ['one process with an embedded database', onOneEmbedded],
  ['two processes with one Postgres', onTwoWithPostgres],
]

async function onOneEmbedded(directory: string): Promise<Arena> {
  return toArena([await startService({ directory })], null)
}

/** Two replicas on a real server: nothing in one process can decide between them. */
async function onTwoWithPostgres(directory: string): Promise<Arena> {
  const postgres = await startPostgres()
  const url = await postgres.newDatabase()
  // However long the second takes to start, it is the same time for both.
  const clock = testClock()
  const open = async () => startService({ directory, clock, database: await openDatabase({ kind: 'postgres', url }) })
  return toArena([await open(), await open()], url, () => postgres.stop())
}

function toArena(
  services: readonly TestService[],
  url: Secret | null,
  stop: () => Promise<void> = () => Promise.resolve(),
): Arena {
  return {
    services,
    url,
    serviceFor(index) {
      const service = services[index % services.length]
      if (!service) throw new Error('There is no service.')
      return service
    },
    async [Symbol.asyncDispose]() {
      for (const service of services) await service[Symbol.asyncDispose]()
      await stop()
    },
  }
}
