/** What the changes that admins make to models, backends and whole teams have in common. */
import type { PrismaClient } from '../../generated/prisma/client.ts'
import type { Transaction } from '../database/client.ts'
import { inTransaction } from '../database/transaction.ts'
import type { TimeLimits } from '../database/transaction.ts'
import { writeMistakes } from '../directory/mistakes.ts'
import type { AdminMistake } from '../directory/mistakes.ts'
import { DirectoryBusyError, lockDirectory, raiseVersion } from '../directory/state.ts'
import { ApiError } from '../http/errors.ts'
import { lockTeam } from './team-access.ts'
import type { TeamActor } from './team-access.ts'

/** The directory file is being applied. */
export type DirectoryBusy = { readonly kind: 'busy'; readonly mistakes?: undefined }

/** Why a change was refused. */
export type DirectoryRefusal =
  AdminMistake | DirectoryBusy | { readonly kind: 'not_found'; readonly mistakes?: undefined }

type Work<Result> = (tx: Transaction) => Promise<Result>

/** Longer than another admin's change takes, and shorter than the statements of a request may take together. */
const LOCK_TRIES = 20

/** Does work in a transaction while the directory is locked, and resolves with its result. */
export async function withLockedDirectory<Result>(
  db: PrismaClient,
  work: Work<Result>,
  timeLimits?: TimeLimits,
): Promise<Result | DirectoryBusy> {
  try {
    const locked: Work<Result> = async (tx) => {
      await lockDirectory(tx, LOCK_TRIES)
      return work(tx)
    }
    return await inTransaction(db, locked, timeLimits)
  } catch (error) {
    if (error instanceof DirectoryBusyError) return { kind: 'busy' }
    throw error
  }
}

/**
 * Changes models or backends of a team while the directory and the team are locked, and lets all processes load the
 * directory again. Resolves with why the change was refused; null: it was not. A change that was refused, or that found
 * nothing to change, must have written nothing.
 */
export async function changeDirectory<Result extends DirectoryRefusal | 'unchanged' | null>(
  db: PrismaClient,
  admin: TeamActor,
  now: Date,
  change: Work<Result>,
): Promise<Result | DirectoryBusy> {
  return withLockedDirectory(db, async (tx) => {
    await lockTeam(tx, admin)
    const result = await change(tx)
    if (result === null) await raiseVersion(tx, now)
    return result
  })
}

/** The error of a refused change. */
export function toChangeError(refusal: DirectoryRefusal, thing: 'model' | 'backend'): ApiError {
  switch (refusal.kind) {
    case 'invalid':
      return new ApiError('invalid_request', { message: writeMistakes(refusal.mistakes) })
    case 'taken':
      return new ApiError('conflict', { message: writeMistakes(refusal.mistakes) })
    case 'not_found':
      return new ApiError('not_found', { message: `The admins of the team have added no ${thing} of this name.` })
    case 'busy':
      return new ApiError('conflict', {
        message: 'The directory file is being applied. Repeat the request in a few seconds.',
      })
  }
}
