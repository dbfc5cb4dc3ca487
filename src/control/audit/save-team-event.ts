import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Transaction } from '../../database/client.ts'
import type { TeamActor } from '../team-access.ts'

/** What an admin has changed in a team. */
type TeamEvent = {
  /** What happened, such as `model.created`. */
  readonly kind: string
  readonly subjectId: string
  readonly details: Prisma.InputJsonObject
}

/** Writes the audit event of a change that an admin makes to a team. */
export async function saveTeamEvent(
  tx: Transaction,
  { teamId, accountId, ip }: TeamActor,
  event: TeamEvent,
  at: Date,
): Promise<void> {
  await tx.auditEvent.create({ data: { ...event, at, teamId, accountId, ip } })
}
