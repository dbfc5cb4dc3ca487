/**
 * Erases a person who has left, for the operator. The row of the account stays, without its address, so that sums of
 * usage, events of calls and the audit log still add up.
 */
import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { inTransaction } from '../../database/transaction.ts'
import { OperatorError } from '../../kernel/operator-error.ts'
import { teamNameOf } from '../../kernel/team-name.ts'
import { findEventConditions } from './audit-events.ts'
import { unknownPerson } from './unknown-person.ts'

/**
 * Erases the account with this address, and resolves with sentences that say what was removed. Rejects with an
 * `OperatorError` when there is no such account, or while it has an invitation. It can be repeated after a failure.
 */
export async function eraseAccount({ prisma }: Pick<Database, 'prisma'>, email: string, now: Date): Promise<string> {
  const account = await prisma.account.findUnique({ where: { email } })
  if (!account) throw unknownPerson(email)
  await requireLeft(prisma, account)
  const events = await clearAuditEvents(prisma, account.id)
  const removed = await inTransaction(prisma, (tx) => removeRows(tx, account, now))
  const counts = Object.entries(removed).map(([rows, { count }]) => `${rows} ${count}`)
  return (
    `${email} is erased. Sums of usage and audit events name the account ${account.id} only.\n` +
    `Removed: ${counts.join(', ')}. Audit events without network addresses, names and devices now: ${events}.`
  )
}

type Person = { readonly id: string; readonly email: string }

async function requireLeft(tx: Transaction, { id, email }: Person): Promise<void> {
  const invitations = await tx.invitation.findMany({
    where: { accountId: id, revokedAt: null },
    select: { team: { select: { name: true, organization: { select: { name: true } } } } },
  })
  if (invitations.length === 0) return
  const teams = invitations.map(({ team }) => teamNameOf(team)).toSorted()
  throw new OperatorError(
    `${email} is still invited to ${teams.join(', ')}, so nothing was erased. Remove the person from the directory ` +
      `file and run "svc reload", or let an admin run "svc uninvite ${email}". Then run this again.`,
  )
}

/** How many audit events one statement reads, so that other statements run in between. */
const EVENTS_PER_BATCH = 10_000n

/**
 * Clears the events of the account and those of what it did as an admin, and takes its names out of the events of
 * spending limits that admins have set for it or its API keys. Clients choose the ids of devices, so such an id may be
 * a name too. Resolves with the number of events.
 */
async function clearAuditEvents(prisma: PrismaClient, accountId: string): Promise<number> {
  const { isOwn, isAboutIt } = await findEventConditions(prisma, accountId)
  const { _max } = await prisma.auditEvent.aggregate({ _max: { id: true } })
  let cleared = 0
  for (let first = 0n; first <= (_max.id ?? -1n); first += EVENTS_PER_BATCH) {
    cleared += await prisma.$executeRaw`
      UPDATE audit_events SET ip = CASE WHEN ${isOwn} THEN NULL ELSE ip END,
        details = CASE WHEN ${isAboutIt} OR kind ~ '^(passkey|api_key)' THEN details - 'name' ELSE details END
          - 'deviceId'
      WHERE id >= ${first} AND id < ${first + EVENTS_PER_BATCH} AND (${isOwn} OR ${isAboutIt})`
  }
  return cleared
}

/** Logins and sign-in links are removed with the invitations. */
async function removeRows(tx: Transaction, person: Person, now: Date) {
  const accountId = person.id
  const ofPerson = { where: { invitation: { accountId } } }
  const keys = await tx.apiKey.deleteMany(ofPerson)
  const browsers = await tx.browserSession.deleteMany(ofPerson)
  const devices = await tx.deviceSession.deleteMany(ofPerson)
  const passkeys = await tx.passkey.deleteMany({ where: { accountId } })
  const limits = await tx.spendingLimit.deleteMany({ where: { accountId } })
  const invitations = await tx.invitation.deleteMany({ where: { accountId, revokedAt: { not: null } } })
  // An admin may have invited the person again meanwhile.
  await requireLeft(tx, person)
  await tx.account.update({ where: { id: accountId }, data: { email: `erased-${accountId}@erased.invalid` } })
  await tx.auditEvent.create({ data: { kind: 'account.erased', at: now, accountId, details: { by: 'operator' } } })
  return { invitations, devices, browsers, passkeys, 'API keys': keys, 'spending limits': limits }
}
