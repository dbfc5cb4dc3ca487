/** A session that was ended, with the invitation that it belonged to. */
type EndedSession = {
  readonly id: string
  readonly invitation: { readonly accountId: string; readonly teamId: string }
}

/** How sessions are ended. `adminId`: the admin who does it for another person. */
export type SessionEnd = {
  readonly at: Date
  readonly reason: string
  readonly ip: string
  readonly adminId?: string | undefined
}

/** The rows of the audit log for sessions that were ended. */
export function toRevokedEvents(
  kind: 'device_session.revoked' | 'browser_session.revoked',
  sessions: readonly EndedSession[],
  { at, reason, ip, adminId }: SessionEnd,
) {
  return sessions.map(({ id: subjectId, invitation: { accountId, teamId } }) => {
    return {
      at,
      kind,
      accountId,
      teamId,
      subjectId,
      ip,
      details: adminId ? { reason, by: 'admin', adminId } : { reason },
    }
  })
}
