import type { Prisma } from '../../../generated/prisma/client.ts'
import { toRevokedEvents } from '../audit/ended-sessions.ts'

export type RevokeReason =
  'logout' | 'replaced' | 'surplus' | 'refresh_reuse' | 'signed_out' | 'signed_out_everywhere' | 'signed_out_by_admin'

/**
 * Ends live device sessions, the browser sessions that depend on them, and writes an audit row for each. `adminId`: the
 * admin who did it for another person. Returns the ids of the device sessions.
 */
export async function endSessions(
  tx: Prisma.TransactionClient,
  where: Prisma.DeviceSessionWhereInput,
  reason: RevokeReason,
  now: Date,
  ip: string,
  adminId?: string,
): Promise<string[]> {
  const ended = { revokedAt: now, revokedReason: reason }
  const rows = await tx.deviceSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: ended,
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  await tx.browserSession.updateMany({ where: { deviceSessionId: { in: ids }, revokedAt: null }, data: ended })
  const events = toRevokedEvents('device_session.revoked', rows, { at: now, reason, ip, adminId })
  await tx.auditEvent.createMany({ data: events })
  return ids
}
