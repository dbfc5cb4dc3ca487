import { setTimeout as sleep } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import type { IsolationLevel, SqlDriverAdapterFactory, SqlQuery, SqlQueryable } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { PrismaClient } from '../../../generated/prisma/client.ts'
import { codeOf } from '../../kernel/error-code.ts'
import type { Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import { DatabaseOpenError, makePing, once } from '../client.ts'
import type { Database, Listening } from '../client.ts'
import { isDatabaseUnavailable } from '../errors.ts'
import { migrate, readMigrations } from '../migrations.ts'
import type { MigrationConnection } from '../migrations.ts'
import { PLANNED_FOR_VALUES } from '../planned-for-values.ts'
import { makeStatements } from '../statements.ts'
import { CONNECT_TIMEOUT_MS, openConnections } from './connections.ts'
import type { Connections } from './connections.ts'
import { listenOnPostgres } from './listening.ts'
import { MAX_WAITS_FOR_CONNECTION } from './silence.ts'

/** Reads the URL of the server. It is called for each connection, because the password may change. */
type ReadUrl = () => Secret

/** Migrates a database on a Postgres server and opens connections to it. */
export async function openPostgres(readUrl: ReadUrl, log: Logger | null): Promise<Database> {
  await migratePostgres(readUrl, log)
  const readOptions = () => connectionOptions(readUrl())
  const connections = openConnections(readOptions, log)
  const adapter = postgresAdapter(connections)
  const prisma = new PrismaClient({
    adapter,
    errorFormat: 'minimal',
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS * MAX_WAITS_FOR_CONNECTION + 500, timeout: 10_000 },
  })
  const listenings: Listening[] = []
  return {
    prisma,
    ...makeStatements(adapter),
    copyFiles: null,
    // The server is a process of its own, and connections to it are opened again.
    crashed: new Promise(() => undefined),
    ping: makePing(pingOver(connections, log)),
    listen(channel, onNotice) {
      const listening = listenOnPostgres(readOptions, channel, onNotice)
      listenings.push(listening)
      return listening
    },
    close: once(async () => {
      for (const listening of listenings) listening.close()
      // Prisma waits for its statements; closing the connections ends those that get no answer.
      await Promise.all([prisma.$disconnect(), connections.close()])
    }),
  }
}

/**
 * Reads and locks nothing, but fails where logins would: at a replica, in a database that is read-only, and without the
 * tables. The pool replaces a connection after an error, so the next ping may find another server.
 */
const PING = 'SELECT FROM directory_state WHERE false FOR UPDATE'

/** Makes the query of a ping. It logs why the server refuses the statement, once until the server accepts it again. */
function pingOver({ pool, watch }: Connections, log: Logger | null): () => Promise<void> {
  let isRefused = false
  return async () => {
    try {
      await watch(() => pool.query(PING))
    } catch (error) {
      // Errors of another severity end the connection, which is logged as lost.
      const isRefusal = error instanceof pg.DatabaseError && error.severity === 'ERROR'
      if (isRefusal && !isRefused) log?.warn({ reason: error.message }, 'database.refused')
      isRefused ||= isRefusal
      throw error
    }
    if (isRefused) log?.info({}, 'database.accepted')
    isRefused = false
  }
}

/** The package's Prisma adapter for node-postgres, with every statement watched. */
function postgresAdapter({ pool, watch }: Connections): SqlDriverAdapterFactory {
  const factory = new PrismaPg(pool, { statementNameGenerator: makeStatementNames() })
  const watched = (queryable: SqlQueryable) => ({
    queryRaw: watching(queryable.queryRaw.bind(queryable)),
    executeRaw: watching(queryable.executeRaw.bind(queryable)),
  })
  function watching<Query, Result>(run: (query: Query) => Promise<Result>) {
    return (query: Query) => watch(() => run(query))
  }
  return {
    provider: factory.provider,
    adapterName: factory.adapterName,
    async connect() {
      const adapter = await factory.connect()
      const start = adapter.startTransaction.bind(adapter)
      return Object.assign(adapter, watched(adapter), {
        startTransaction: (level?: IsolationLevel) =>
          watch(() => start(level)).then((transaction) => Object.assign(transaction, watched(transaction))),
      })
    },
  }
}

/** The maximum number of names, because a connection keeps every statement that it has prepared. */
const MAX_PREPARED = 500

/**
 * A list that Prisma writes with a parameter for each value or row. Statements with lists of each length are different
 * ones, so they would take all names.
 */
const LIST_OF_ANY_LENGTH = /IN \(\$\d+,|\), \(\$/

/**
 * Makes the names under which connections prepare statements, so that the server parses and plans each of them once and
 * not each time. An empty name is that of a statement that is not kept. One without values, such as COMMIT, takes a
 * simpler message without a name.
 */
function makeStatementNames(): (query: Pick<SqlQuery, 'sql' | 'args'>) => string {
  const names = new Map<string, string>()
  return ({ sql, args }) => {
    const known = names.get(sql)
    if (known !== undefined) return known
    if (args.length === 0 || names.size === MAX_PREPARED) return ''
    if (sql.includes(PLANNED_FOR_VALUES) || LIST_OF_ANY_LENGTH.test(sql)) return ''
    const name = `svc_${names.size + 1}`
    names.set(sql, name)
    return name
  }
}

/**
 * What each connection needs, whatever the server, the database or the user has set. The driver adapter sends and reads
 * times without a time zone, reads times and bytes in one form only, and looks for tables in one schema.
 */
const NEEDED_SETTINGS = [
  { name: 'timezone', value: 'UTC', pattern: /^(etc\/)?utc$/i },
  { name: 'datestyle', value: 'ISO', pattern: /^ISO,/ },
  { name: 'bytea_output', value: 'hex', pattern: /^hex$/ },
  { name: 'search_path', value: 'public', pattern: /^public$/ },
] as const

/**
 * The options of each connection. Just-in-time compilation of a statement (PostgreSQL, chapter 32) takes 200 ms and
 * more, longer than every statement here.
 */
const OPTIONS = ['jit=off', ...NEEDED_SETTINGS.map(({ name, value }) => `${name}=${value}`)]
  .map((option) => `-c ${option}`)
  .join(' ')

function connectionOptions(url: Secret): pg.ClientConfig {
  return {
    connectionString: url.reveal(),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: 'svc',
    options: OPTIONS,
  }
}

/** Migrates over a connection of its own, without statement timeouts, because a migration may take long. */
async function migratePostgres(readUrl: ReadUrl, log: Logger | null): Promise<void> {
  const client = await connectForMigrating(readUrl)
  const connection = connectionForMigrating(client)
  try {
    // The server may have a timeout for all statements of this user or database.
    await connection.script('SET statement_timeout = 0')
    await requireOptions(connection)
    await requireOwnConnection(connection, readUrl)
    const migrations = await migrate(connection, await readMigrations(), log)
    if (migrations.length > 0) log?.info({ migrations }, 'database.migrated')
  } catch (error) {
    // What the server answers, for example that this user may create no tables, or that it is a replica.
    throw error instanceof pg.DatabaseError || isDatabaseUnavailable(error) ? cannotOpen(readUrl(), error) : error
  } finally {
    await client.end()
  }
}

/** A pooler may drop the options of connections, and a URL may replace them. */
async function requireOptions(connection: MigrationConnection): Promise<void> {
  // A pooler may have another name for the database, and a URL need not name it. The current schema is null where
  // there is no `public`, which the first migration reports.
  const [row = {}] = await connection.query(
    `SELECT current_setting('timezone') AS timezone, current_setting('datestyle') AS datestyle,
      current_setting('bytea_output') AS bytea_output, COALESCE(current_schema(), 'public') AS search_path,
      current_database() AS database`,
  )
  const database = String(row['database'])
  for (const { name, value, pattern } of NEEDED_SETTINGS) {
    const found = String(row[name])
    if (pattern.test(found)) continue
    throw new DatabaseOpenError(
      `Connections to the database ${database} have the ${name} ${found}, because a pooler or SVC_DATABASE_URL ` +
        `replaces their options. Set it in the database: ALTER DATABASE "${database}" SET ${name} TO '${value}'.`,
    )
  }
}

/**
 * A pooler that shares connections by transaction gives the second client the connection that the first one has left.
 * Names of prepared statements would collide, and the lock of the migrations would never be released.
 */
async function requireOwnConnection(first: MigrationConnection, readUrl: ReadUrl): Promise<void> {
  const client = await connectForMigrating(readUrl)
  try {
    const pids = [await findPid(first), await findPid(connectionForMigrating(client))]
    if (pids[0] !== pids[1]) return
  } finally {
    await client.end()
  }
  throw new DatabaseOpenError(
    'A pooler shares the connections to the database by transaction. Let it give each client a connection of its own ' +
      '(session pooling), or put the address of the Postgres server into SVC_DATABASE_URL.',
  )
}

async function findPid(connection: MigrationConnection): Promise<unknown> {
  const [row] = await connection.query('SELECT pg_backend_pid() AS pid')
  return row?.['pid']
}

export function connectionForMigrating(client: pg.Client): MigrationConnection {
  return {
    query: async (sql, parameters = []) => (await client.query<Record<string, unknown>>(sql, [...parameters])).rows,
    script: async (sql) => void (await client.query(sql)),
  }
}

const MAX_CONNECT_TRIES = 10

/**
 * Connects for migrations and other work without statement timeouts. Waits for a server that is starting, and rejects
 * with a `DatabaseOpenError` when there is no connection. A lost connection fails the statements that run on it.
 */
export async function connectForMigrating(readUrl: ReadUrl): Promise<pg.Client> {
  for (let tries = 1; ; tries++) {
    const url = readUrl()
    const client = new pg.Client(connectionOptions(url))
    try {
      await client.connect()
      return client.on('error', () => undefined)
    } catch (error) {
      await client.end().catch(() => undefined)
      if (tries === MAX_CONNECT_TRIES || !mayStartSoon(error)) throw cannotOpen(url, error)
    }
    await sleep(1000)
  }
}

/** Whether the server may only be starting. A wrong password (28) or database name (3D) stays wrong. */
function mayStartSoon(error: unknown): boolean {
  return isDatabaseUnavailable(error) && !/^(28|3D)/.test(codeOf(error) ?? '')
}

function cannotOpen(url: Secret, cause: unknown): DatabaseOpenError {
  const { host, pathname } = new URL(url.reveal())
  const reason = cause instanceof AggregateError ? cause.errors.map(String).join(', ') : String(cause)
  return new DatabaseOpenError(`Cannot open the database ${host}${pathname}: ${reason}. Check SVC_DATABASE_URL.`, {
    cause,
  })
}
