import type { Prisma } from '../../generated/prisma/client.ts'

type Transaction = Prisma.TransactionClient

export type DirectoryState = {
  /** Grows with each change of the directory. */
  readonly version: number
  /** The `revision` of the last file that had one. */
  readonly fileRevision: number | null
}

/** There is one row. */
const ID = 1

export async function findState(db: Transaction): Promise<DirectoryState> {
  const row = await db.directoryState.findUnique({ where: { id: ID } })
  return row ?? { version: 0, fileRevision: null }
}

/** Raises the version and keeps the revision of the file; a new revision has an audit event. */
export async function saveState(
  tx: Transaction,
  last: DirectoryState,
  revision: number | null,
  now: Date,
): Promise<void> {
  const state = { version: last.version + 1, fileRevision: revision ?? last.fileRevision }
  await tx.directoryState.upsert({ where: { id: ID }, create: { id: ID, ...state }, update: state })
  if (revision === null || revision === last.fileRevision) return
  await tx.auditEvent.create({ data: { kind: 'directory.revision_applied', at: now, details: { revision } } })
}
