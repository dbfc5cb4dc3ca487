import { openDatabase } from '../../src/database/open.ts'
import type { Secret } from '../../src/kernel/secret.ts'
import { testClock } from './clock.ts'
import { fillPool, startPostgres, withoutStatementTimeout } from './postgres.ts'
import { json, outcomeOf } from './requests.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

type Headers = Readonly<Record<string, string>>

/** Services in this process that share one database, as the replicas of a deployment do. */
export type Replicas = AsyncDisposable & {
  readonly services: readonly TestService[]
  /** The first service, for what only one has to do. */
  readonly first: TestService
  /** The URL of the Postgres database; null for an embedded database. */
  readonly url: Secret | null
  /** The service for a request: requests with consecutive indexes go to different services. */
  serviceFor(index: number): TestService
  /** A POST with a JSON body to the service for this index. */
  post(index: number, path: string, body: unknown, headers?: Headers): Promise<Response>
  /** The outcome of such a POST, such as `401 unauthorized`. */
  outcomeOfPost(index: number, path: string, body: unknown, headers?: Headers): Promise<string>
}

/** The deployments that tests of concurrent requests run against, for `describe.each`: a name and what starts it. */
export const REPLICA_SETS: readonly (readonly [string, (directory: string) => Promise<Replicas>])[] = [
  ['one process with an embedded database', startOneEmbedded],
  ['two processes with one Postgres', startTwoOnPostgres],
]

async function startOneEmbedded(directory: string): Promise<Replicas> {
  return toReplicas(await startService({ directory }), [], null)
}

/** Two replicas on a real server, so that no state in one process can decide between them. */
async function startTwoOnPostgres(directory: string): Promise<Replicas> {
  const postgres = await startPostgres()
  const url = withoutStatementTimeout(await postgres.newDatabase())
  // One clock, so that the time does not depend on how long the second takes to start.
  const clock = testClock()
  const open = async () => {
    const database = await openDatabase({ kind: 'postgres', url })
    const service = await startService({ directory, clock, database })
    await fillPool(database)
    return service
  }
  return toReplicas(await open(), [await open()], url, () => postgres.stop())
}

function toReplicas(
  first: TestService,
  others: readonly TestService[],
  url: Secret | null,
  stop: () => Promise<void> = () => Promise.resolve(),
): Replicas {
  const services = [first, ...others]
  const serviceFor = (index: number) => services[index % services.length] ?? first
  const post: Replicas['post'] = (index, path, body, headers = {}) => serviceFor(index).fetch(path, json(body, headers))
  return {
    services,
    first,
    url,
    serviceFor,
    post,
    outcomeOfPost: async (...request) => outcomeOf(await post(...request)),
    async [Symbol.asyncDispose]() {
      for (const service of services) await service[Symbol.asyncDispose]()
      await stop()
    },
  }
}
