import type { Prisma } from '../../generated/prisma/client.ts'

type Transaction = Prisma.TransactionClient

/** The ids of the active invitations that the file owns. */
export async function findListedMembers(tx: Transaction): Promise<Set<string>> {
  const rows = await tx.invitation.findMany({ where: { source: 'directory', revokedAt: null }, select: { id: true } })
  return new Set(rows.map(({ id }) => id))
}

/** Counts the members before, and those who were added and withdrawn. */
export function countChanges(before: ReadonlySet<string>, after: ReadonlySet<string>) {
  const invited = [...after].filter((id) => !before.has(id)).length
  const withdrawn = [...before].filter((id) => !after.has(id)).length
  return { members: before.size, invited, withdrawn }
}

/** The audit log is where the revision is kept: it also says when it was applied. */
const REVISION_EVENT = 'directory.revision_applied'

/** The last revision that was applied; null when there was none. */
export async function findLastRevision(tx: Transaction): Promise<number | null> {
  const event = await tx.auditEvent.findFirst({ where: { kind: REVISION_EVENT }, orderBy: { id: 'desc' } })
  const revision: unknown = (event?.details as { revision?: unknown } | undefined)?.revision
  return typeof revision === 'number' ? revision : null
}

export async function saveRevision(tx: Transaction, revision: number, now: Date): Promise<void> {
  await tx.auditEvent.create({ data: { kind: REVISION_EVENT, at: now, details: { revision } } })
}
