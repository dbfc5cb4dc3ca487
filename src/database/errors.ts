import { setTimeout as sleep } from 'node:timers/promises'

/**
 * True when asking again later may help: the database cannot be reached, was lost in the middle, did not answer in time,
 * has no room for another connection, is starting or shutting down, or refused one of two writers too often. Knows what
 * Prisma, its driver adapters, node-postgres, PGlite and Node's sockets throw, however deep it is wrapped.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  return layers(error).some(saysUnavailable) || isWriteConflict(error)
}

/** True when the database undid a transaction in favour of another one: the same transaction may succeed now. */
export function isWriteConflict(error: unknown): boolean {
  return layers(error).some((layer) => codesOf(layer).some((code) => WRITE_CONFLICTS.has(code)))
}

/**
 * Runs a transaction, and again when the database undid it in favour of another one (serialization failure or deadlock),
 * up to eight times in about half a second. `transaction` must leave nothing behind when it fails. Other errors pass.
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

/** SQLSTATE, and Prisma's own name for both. */
const WRITE_CONFLICTS = new Set(['40001', '40P01', 'P2034'])

/** Prisma's error reference: reachability, credentials, timeouts and the pool. */
const PRISMA_UNAVAILABLE = new Set([
  ...['P1000', 'P1001', 'P1002', 'P1003', 'P1008', 'P1010', 'P1011', 'P1017'],
  ...['P2024', 'P2037'],
])

const SOCKET_UNAVAILABLE = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT'],
  ...['ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH'],
])

/**
 * PostgreSQL, appendix A: connection exceptions (08), authorization (28), no such database (3D), insufficient resources
 * (53), shutdown, start-up and cancelled statements (57), system errors (58), lock not available (55P03), transactions that
 * idled too long (25P03) and a server that has become a replica (25006).
 */
const SQLSTATE_UNAVAILABLE = /^(08...|28...|3D000|53...|57...|58...|55P03|25P03|25006)$/

/** What a driver adapter calls a failure for which the server gave no SQLSTATE. */
const KIND_UNAVAILABLE = new Set(['DatabaseNotReachable', 'ConnectionClosed', 'SocketTimeout', 'TlsConnectionError'])

/** What has no code: node-postgres and its pool, Prisma's wait for a transaction (P2028), PGlite after it was closed. */
const MESSAGE_UNAVAILABLE =
  /timeout exceeded when trying to connect|timeout expired|Connection terminated|Query read timeout|not queryable|after calling end on the pool|Unable to start a transaction in the given time|expired transaction|PGlite is clos/

function saysUnavailable(layer: object): boolean {
  const known = (code: string) =>
    PRISMA_UNAVAILABLE.has(code) || SOCKET_UNAVAILABLE.has(code) || SQLSTATE_UNAVAILABLE.test(code)
  if ('kind' in layer && typeof layer.kind === 'string' && KIND_UNAVAILABLE.has(layer.kind)) return true
  return codesOf(layer).some(known) || (layer instanceof Error && MESSAGE_UNAVAILABLE.test(layer.message))
}

/** A driver adapter keeps the driver's code as `originalCode` beside its own words. */
function codesOf(layer: object): string[] {
  const codes = ['code' in layer && layer.code, 'originalCode' in layer && layer.originalCode]
  return codes.filter((code) => typeof code === 'string')
}

/** An error and what it wraps: its cause, the errors of an aggregate, and the driver's error in Prisma's `meta`. */
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
