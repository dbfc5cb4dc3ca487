import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Transaction } from '../../database/client.ts'
import { toRevokedEvents } from '../audit/ended-sessions.ts'
import type { SessionEnd } from '../audit/ended-sessions.ts'

export type RevokeReason =
  'logout' | 'replaced' | 'surplus' | 'refresh_reuse' | 'signed_out' | 'signed_out_everywhere' | 'signed_out_by_admin'

/**
 * Ends live device sessions and the browser sessions that depend on them, with an audit row for each device session.
 * Returns the ids of the device sessions.
 */
export async function endDeviceSessions(
  tx: Transaction,
  where: Prisma.DeviceSessionWhereInput,
  end: SessionEnd & { readonly reason: RevokeReason },
): Promise<string[]> {
  const ended = { revokedAt: end.at, revokedReason: end.reason }
  const rows = await tx.deviceSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: ended,
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  await tx.browserSession.updateMany({ where: { deviceSessionId: { in: ids }, revokedAt: null }, data: ended })
  const events = toRevokedEvents('device_session.revoked', rows, end)
  await tx.auditEvent.createMany({ data: events })
  return ids
}
