import type { PrismaClient } from '../../generated/prisma/client.ts'
import type { Transaction } from './client.ts'
import { withRetry } from './errors.ts'

/** In milliseconds, as Prisma's `$transaction` takes them. */
export type TimeLimits = { readonly maxWait: number; readonly timeout: number }

/**
 * Does work in a transaction, and does it again when the database rolled it back in favour of another one. The work
 * must have no side effects outside the database.
 */
export function inTransaction<Result>(
  db: PrismaClient,
  work: (tx: Transaction) => Promise<Result>,
  timeLimits?: TimeLimits,
): Promise<Result> {
  return withRetry(() => db.$transaction(work, timeLimits))
}
