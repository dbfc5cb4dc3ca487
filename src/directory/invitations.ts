import type { Prisma } from '../../generated/prisma/client.ts'
import type { Transaction } from '../database/client.ts'
import type { Actor } from '../kernel/caller.ts'
import { newUserHandle } from '../kernel/identifier.ts'

type Invitation = Pick<Prisma.InvitationGetPayload<object>, 'id' | 'accountId' | 'teamId' | 'role'>

/** Finds the ids of accounts by email address, and creates the missing accounts. */
export async function ensureAccounts(
  tx: Transaction,
  emails: readonly string[],
  now: Date,
): Promise<Map<string, string>> {
  const find = async () => {
    const rows = await tx.account.findMany({ where: { email: { in: [...emails] } }, select: { id: true, email: true } })
    return new Map(rows.map(({ id, email }) => [email, id]))
  }
  const known = await find()
  const added = emails.filter((email) => !known.has(email))
  if (added.length === 0) return known
  await tx.account.createMany({
    data: added.map((email) => ({ email, userHandle: newUserHandle(), createdAt: now })),
    // An admin may be inviting the same person at the same time.
    skipDuplicates: true,
  })
  return find()
}

/** The author of a change of an invitation: the directory file or an admin of the team. */
type Inviter = Actor | 'directory'

/**
 * Withdraws invitations and ends everything that depends on them: sessions, API keys, and logins that could still
 * become sessions. Resolves with the ids of the device sessions and the API keys that ended.
 */
export async function withdrawInvitations(
  tx: Transaction,
  invitations: readonly Invitation[],
  inviter: Inviter,
  now: Date,
): Promise<string[]> {
  if (invitations.length === 0) return []
  const ids = { in: invitations.map(({ id }) => id) }
  const ended = { revokedAt: now, revokedReason: 'invitation_withdrawn' }
  // The invitation is written first: a concurrent login that creates a session waits for this row and then sees it
  // withdrawn.
  await tx.invitation.updateMany({ where: { id: ids, revokedAt: null }, data: { revokedAt: now } })
  // Logins before sessions: a link that is being clicked has locked its login, so this waits for the browser session
  // that the click begins, and the statements below end it. A later click finds its login cancelled.
  await tx.deviceLogin.updateMany({
    where: { invitationId: ids, status: { in: ['pending', 'approved'] } },
    data: { status: 'cancelled', userCode: null },
  })
  // Deleted, so that they stay dead when the person is invited again within their time.
  await tx.signInLink.deleteMany({ where: { invitationId: ids } })
  const devices = await tx.deviceSession.updateManyAndReturn({
    where: { invitationId: ids, revokedAt: null },
    data: ended,
    select: { id: true },
  })
  await tx.browserSession.updateMany({ where: { invitationId: ids, revokedAt: null }, data: ended })
  const keys = await tx.apiKey.updateManyAndReturn({
    where: { invitationId: ids, revokedAt: null },
    data: ended,
    select: { id: true },
  })
  await tx.auditEvent.createMany({
    data: invitations.map((row) => invitationEvent('invitation.withdrawn', row, inviter, now)),
  })
  return [...devices, ...keys].map(({ id }) => id)
}

/** The audit event for a change of an invitation. */
export function invitationEvent(
  kind: 'invitation.created' | 'invitation.changed' | 'invitation.restored' | 'invitation.withdrawn',
  { id, accountId, teamId, role }: Invitation,
  inviter: Inviter,
  now: Date,
) {
  const event = { kind, at: now, accountId, teamId, subjectId: id }
  if (inviter === 'directory') return { ...event, details: { role, by: inviter } }
  return { ...event, ip: inviter.ip, details: { role, by: 'admin', adminId: inviter.accountId } }
}
