/** What the changes of admins to the models and backends of their team have in common. */
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts'
import { withRetry } from '../database/errors.ts'
import type { AdminModelMistake } from '../directory/admin-models.ts'
import { DirectoryBusyError, lockDirectory } from '../directory/state.ts'
import { ApiError } from '../http/errors.ts'

/** The author of a change. */
export type DirectoryActor = { readonly accountId: string; readonly ip: string }

/** Why a change was refused. `busy`: the directory file is being applied. */
export type DirectoryRefusal = AdminModelMistake | { readonly kind: 'not_found' | 'busy' }

type Work = (tx: Prisma.TransactionClient) => Promise<DirectoryRefusal | null>

/** Longer than another admin's change takes, and shorter than the statements of a request may take together. */
const LOCK_TRIES = 20

/** Does work in a transaction while the directory is locked. Resolves with why it was refused; null: it was not. */
export async function changeDirectory(db: PrismaClient, work: Work): Promise<DirectoryRefusal | null> {
  try {
    return await withRetry(() =>
      db.$transaction(async (tx) => {
        await lockDirectory(tx, LOCK_TRIES)
        return work(tx)
      }),
    )
  } catch (error) {
    if (error instanceof DirectoryBusyError) return { kind: 'busy' }
    throw error
  }
}

/** The error of a refused change. */
export function toChangeError(refusal: DirectoryRefusal, thing: 'model' | 'backend'): ApiError {
  switch (refusal.kind) {
    case 'invalid':
      return new ApiError('invalid_request', { message: refusal.message })
    case 'taken':
      return new ApiError('conflict', { message: refusal.message })
    case 'not_found':
      return new ApiError('not_found', { message: `The admins of the team have added no ${thing} of this name.` })
    case 'busy':
      return new ApiError('conflict', {
        message: 'The directory file is being applied. Repeat the request in a few seconds.',
      })
  }
}
