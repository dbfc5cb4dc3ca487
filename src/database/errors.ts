import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Whether a retry later may help: the database cannot be reached, lost the connection, did not answer in time, has no
 * free connection, is starting or stopping, or rolled this transaction back too often. Recognizes the errors of Prisma,
 * its driver adapters, node-postgres, PGlite and Node's sockets, also when they are wrapped.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return layers(error).some(saysUnavailable) || isWriteConflict(error)
}

/**
 * Whether the same write may succeed later: the database is unavailable, or its tables or the rights of its user are
 * not those that this version needs, such as before a migration (class 42 of SQLSTATE).
 */
export function mayWriteLater(error: unknown): boolean {
  const isMismatch = (layer: object) => codesOf(layer).some((code) => /^42...$/.test(code))
  return isDatabaseUnavailable(error) || layers(error).some(isMismatch)
}

/** Whether the database rolled a transaction back in favour of another one, so that a retry may succeed now. */
function isWriteConflict(error: unknown): boolean {
  return layers(error).some((layer) => codesOf(layer).some((code) => WRITE_CONFLICTS.has(code)))
}

/**
 * Runs a transaction and retries it after a serialization failure or a deadlock, up to seven times in about half a
 * second. `transaction` must have no side effects outside the database when it fails. Rejects with any other error at
 * once.
 */
export async function withRetry<T>(transaction: () => Promise<T>): Promise<T> {
  for (const delayMs of RETRY_DELAYS_MS) {
    try {
      return await transaction()
    } catch (error) {
      if (!isWriteConflict(error)) throw error
    }
    await sleep(delayMs)
  }
  return transaction()
}

const RETRY_DELAYS_MS = [1, 5, 10, 25, 50, 100, 250]

/** The SQLSTATEs of a serialization failure and a deadlock, and Prisma's code for both. */
const WRITE_CONFLICTS = new Set(['40001', '40P01', 'P2034'])

/** Prisma's codes for reachability, credentials, timeouts and the pool (Prisma, "Error message reference"). */
const PRISMA_UNAVAILABLE = new Set([
  ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1011', 'P1017'],
  ...['P2024', 'P2037'],
])

const SOCKET_UNAVAILABLE = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
])

/**
 * SQLSTATEs (PostgreSQL, appendix A): connection exceptions (08), authorization (28), no such database (3D),
 * insufficient resources (53), shutdown, start and cancelled statements (57), system errors (58), lock not available
 * (55P03), idle transaction timeout (25P03) and a server that became a replica (25006).
 */
const SQLSTATE_UNAVAILABLE = /^(08...|28...|3D000|53...|57...|58...|55P03|25P03|25006)$/

/** A driver adapter's names for failures without an SQLSTATE. */
const KIND_UNAVAILABLE = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TlsConnectionError'])

/**
 * The messages of errors without a code: node-postgres and its pool, Prisma's wait for a transaction, a closed PGlite.
 */
const MESSAGE_UNAVAILABLE = new RegExp(
  [
    'timeout exceeded when trying to connect|timeout expired|Connection terminated|not queryable',
    'after calling end on the pool|Unable to start a transaction in the given time|expired transaction|PGlite is clos',
  ].join('|'),
)

function saysUnavailable(layer: object): boolean {
  const known = (code: string) =>
    PRISMA_UNAVAILABLE.has(code) || SOCKET_UNAVAILABLE.has(code) || SQLSTATE_UNAVAILABLE.test(code)
  if ('kind' in layer && typeof layer.kind === 'string' && KIND_UNAVAILABLE.has(layer.kind)) return true
  if (hasNoConnection(layer)) return true
  return codesOf(layer).some(known) || (layer instanceof Error && MESSAGE_UNAVAILABLE.test(layer.message))
}

/**
 * Whether no connection could be made, for whatever reason, or the server has ended it: Postgres does so with each
 * error of these severities (PostgreSQL, section 20.8), such as a refusal of a user or a database.
 */
function hasNoConnection(layer: object): boolean {
  if ('syscall' in layer && (layer.syscall === 'connect' || layer.syscall === 'getaddrinfo')) return true
  return 'severity' in layer && (layer.severity === 'FATAL' || layer.severity === 'PANIC')
}

/** The codes of one error. A driver adapter keeps the driver's code as `originalCode`. */
function codesOf(layer: object): string[] {
  const codes = ['code' in layer && layer.code, 'originalCode' in layer && layer.originalCode]
  return codes.filter((code) => typeof code === 'string')
}

/**
 * An error and all errors that it wraps: its cause, an aggregate's errors, and the driver's error in Prisma's `meta`.
 */
function layers(error: unknown, depth = 0): object[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const inner = [
    'cause' in error && error.cause,
    'meta' in error && error.meta,
    'driverAdapterError' in error && error.driverAdapterError,
    ...('errors' in error && Array.isArray(error.errors) ? (error.errors as unknown[]) : []),
  ]
  return [error, ...inner.flatMap((value) => layers(value, depth + 1))]
}
