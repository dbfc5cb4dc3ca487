import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { codeOf, messageOrCode } from '../../kernel/error-code.ts'
import type { Logger } from '../../log.ts'
import { makeSilenceWatch } from './silence.ts'
import type { SilenceWatch } from './silence.ts'

/**
 * The longest wait for a connection, whether it is a new one or all of them are in use. It is shorter than the timeout
 * of statements, so that requests behind ten that wait for a lock are refused instead of waiting for the same lock.
 */
export const CONNECT_TIMEOUT_MS = 1200

/** A proxy that reaches no server closes a connection within this time. */
const MAX_REFUSAL_MS = 1000

/** The server ends a statement after this time, and the connection stays usable. */
const STATEMENT_TIMEOUT_MS = 1300

/** The pause between two attempts to reach a server that has stopped answering. */
const PROBE_PAUSE_MS = 500

/**
 * After this time a connection that is not in use is replaced. One that was made during a failover can lead to a
 * replica: it answers each read, and refuses each write.
 */
export const MAX_CONNECTION_SECONDS = 60

const CLOSE_TIMEOUT_MS = 1000

export type Connections = SilenceWatch & {
  readonly pool: pg.Pool
  /** Ends the pool, and after a second destroys the connections that a silent server keeps open. */
  close(): Promise<void>
}

/**
 * Opens a pool of connections to a Postgres server that may stop answering without closing them (a frozen machine, a
 * lost network). A request then waits at most 1.6 s, once: all connections are destroyed, and new ones are refused at
 * once until a probe in the background reaches the server again. `readOptions` is called for each connection.
 */
export function openConnections(readOptions: () => pg.ClientConfig, log: Logger | null): Connections {
  const sockets = new Set<Socket>()
  let isAway = false
  let isLost = false
  let isClosed = false

  /** Creates the socket of each connection, which is the only public way to destroy it whatever it is waiting for. */
  function makeSocket(): Socket {
    const socket = new Socket()
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket))
  }
  function makePoolSocket(): Socket {
    const socket = makeSocket()
    // node-postgres calls `connect` on it first.
    if (isAway || isClosed) setImmediate(() => socket.destroy(noAnswer()))
    return socket
  }
  /** Logs that no connection can be made; once until one is made, and not for each attempt. */
  function reportLost(error: Error): void {
    if (isLost || isClosed) return
    isLost = true
    log?.warn({ reason: messageOrCode(error) }, 'database.disconnected')
  }
  function reportBack(): void {
    if (isLost && !isClosed) log?.info({}, 'database.reconnected')
    isLost = false
  }
  function destroyAll(): void {
    for (const socket of sockets) socket.destroy(noAnswer())
  }

  function disconnect(): void {
    if (isAway || isClosed) return
    isAway = true
    reportLost(noAnswer())
    destroyAll()
    void probeUntilBack()
  }
  async function probeUntilBack(): Promise<void> {
    while (!isClosed && !(await canQuery({ ...readOptions(), stream: makeSocket }))) {
      await sleep(PROBE_PAUSE_MS, undefined, { ref: false })
    }
    isAway = false
    reportBack()
  }

  const pool = new pg.Pool({
    ...readOptions(),
    Client: makeReportingClient(readOptions, reportLost),
    stream: makePoolSocket,
    max: 10,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: MAX_CONNECTION_SECONDS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: 10_000,
  })
  // The pool replaces a lost idle connection. Without a listener, the event would end the process.
  pool.on('error', () => undefined).on('connect', reportBack)
  return {
    pool,
    ...makeSilenceWatch({ onSilence: disconnect, isTimeout: isConnectTimeout }),
    async close() {
      isClosed = true
      await Promise.race([pool.end(), sleep(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
      destroyAll()
    },
  }
}

/**
 * Makes the class of a pool's connections. `onRefused` gets why one could not be made: the error of the system, what
 * the server answered, such as that it is starting, or that a proxy in between has closed it.
 */
function makeReportingClient(readOptions: () => pg.ClientConfig, onRefused: (error: Error) => void): typeof pg.Client {
  return class ReportingClient extends pg.Client {
    constructor(ofPool: pg.ClientConfig) {
      super({ ...ofPool, ...readOptions() })
    }

    override connect(): Promise<pg.Client>
    override connect(onEnd: (error: Error) => void): void
    override connect(onEnd?: (error: Error) => void): Promise<pg.Client> | void {
      if (!onEnd) return super.connect()
      const startedAt = performance.now()
      return super.connect((error: Error) => {
        // The types leave out that there is no error when the connection was made.
        if ((error as Error | null) && isRefusal(error, performance.now() - startedAt)) onRefused(error)
        onEnd(error)
      })
    }
  }
}

/**
 * Whether a connection was refused. The pool ends one that takes too long, which has no code: this process may have
 * been busy.
 */
function isRefusal(error: Error, ms: number): boolean {
  return codeOf(error) !== null || ms < MAX_REFUSAL_MS
}

async function canQuery(options: pg.ClientConfig): Promise<boolean> {
  const client = new pg.Client({ ...options, query_timeout: CONNECT_TIMEOUT_MS })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    client.end().catch(() => undefined)
  }
}

/** In the form of a socket's error, which `isDatabaseUnavailable` knows. */
function noAnswer(): Error {
  return Object.assign(new Error('The database does not answer.'), { code: 'ECONNREFUSED' })
}

/** The words of node-postgres' pool for a wait that was too long. */
function isConnectTimeout(error: unknown): boolean {
  return error instanceof Error && /timeout exceeded when trying|connection timeout/.test(error.message)
}
