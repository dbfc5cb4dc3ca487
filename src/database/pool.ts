import pg from 'pg'
import { newPatience, patienceHere } from './time-budget.ts'
import type { Patience } from './time-budget.ts'

/** How long to wait for a connection, a new one or one that others use. */
export const CONNECT_TIMEOUT_MS = 2000
/** The server gives up first, which keeps the connection; ours is for a server that does not even do that. */
const STATEMENT_TIMEOUT_MS = 1800
const QUERY_TIMEOUT_MS = 2000
/** What the wait for a connection and a statement on it may take together, where nobody has said how long to wait in all. */
const WAIT_AND_QUERY_MS = 2500

/**
 * Connections to a Postgres server that may hang: no wait for one takes longer than two seconds, and no statement. Where somebody's patience is
 * known (`patienceHere`), all of them together take no longer than that.
 */
export function openPool(connection: pg.ClientConfig): pg.Pool {
  const pool = new CountingPool({
    ...connection,
    Client: ImpatientClient,
    max: 10,
    idleTimeoutMillis: 30_000,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    idle_in_transaction_session_timeout: 10_000,
  })
  // An idle connection that is lost is replaced when it is needed; without a listener it would end the process.
  pool.on('error', () => undefined)
  return pool
}

/** What `connect` calls back with. */
type Answer = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (error?: Error | boolean) => void,
) => void

/**
 * A pool in which the wait for a connection counts: when all of them hang, who waited for one of those must not hang as long again.
 *
 * Whose patience it is, the asynchronous context tells in which a connection is asked for; the connection remembers it until it is lent again,
 * because its callbacks run in the context of whoever used it before. Prisma keeps the context, but for one case: it makes one query of the
 * `findUnique` calls of one tick, and should those ever be of two requests, the first one's patience counts for both.
 */
class CountingPool extends pg.Pool {
  // The overloads of `connect` are node-postgres' own: with a callback, and with a promise.
  override connect(...given: unknown[]): never {
    const [done] = given
    if (typeof done !== 'function')
      return new Promise((resolve, reject) =>
        this.#lend((error, client) => (error ? reject(error) : resolve(client))),
      ) as never
    this.#lend((...answer) => void Reflect.apply(done, undefined, answer))
    return undefined as never
  }

  #lend(answer: Answer): void {
    const ofRequest = patienceHere()
    const patience = ofRequest ?? newPatience(WAIT_AND_QUERY_MS)
    const waitMs = Math.min(CONNECT_TIMEOUT_MS, patience.leftMs())
    if (waitMs <= 0) return answer(tooLate(), undefined, () => undefined)
    const endWait = patience.beginWait()
    let isOver = false
    const settle: Answer = (error, client, release) => {
      // Nobody waits for this connection any more; the next one may have it.
      if (isOver) return client?.release()
      isOver = true
      clearTimeout(timer)
      endWait()
      // A job may take its time: its statements do not add up.
      if (client instanceof ImpatientClient) client.lend(ofRequest ?? { ...patience, beginWait: () => () => undefined })
      answer(error, client, release)
    }
    const timer = setTimeout(() => settle(tooLate(), undefined, () => undefined), waitMs)
    super.connect(settle)
  }
}

/** In the words of node-postgres' own pool. */
function tooLate(): Error {
  return new Error('timeout exceeded when trying to connect')
}

/**
 * A client that is closed when a query of its got no answer in time. node-postgres would keep it, and in a transaction the
 * ROLLBACK behind the silent query would wait as long again, before a connection that answers nobody goes back to the pool.
 */
class ImpatientClient extends pg.Client {
  #patience = newPatience(WAIT_AND_QUERY_MS)

  /** Whoever uses it now has so much patience. */
  lend(patience: Patience): void {
    this.#patience = patience
  }

  // The overloads of `query` are node-postgres' own, with a callback or a promise; whatever they are given passes through.
  override query(...given: unknown[]): never {
    const [config, ...rest] = given
    const isPlain = typeof config === 'object' && config !== null && !('submit' in config)
    const timeoutMs = Math.max(1, Math.min(QUERY_TIMEOUT_MS, this.#patience.leftMs()))
    const timed = isPlain ? { ...config, query_timeout: timeoutMs } : config
    const endWait = this.#patience.beginWait()
    const noted = rest.map((value) =>
      typeof value === 'function'
        ? (...said: unknown[]) => {
            endWait()
            Reflect.apply(value, undefined, said)
          }
        : value,
    )
    const answer: unknown = Reflect.apply(super.query, this, [timed, ...noted])
    if (answer instanceof Promise)
      answer.then(endWait, (error: unknown) => {
        endWait()
        this.#endAfterSilence(error)
      })
    return answer as never
  }

  #endAfterSilence(error: unknown): void {
    const silent = error instanceof Error && error.message === 'Query read timeout'
    if (silent) this.end().catch(() => undefined)
  }
}
