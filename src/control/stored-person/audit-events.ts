import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'

/** Conditions for the audit events that say something about an account. */
type EventConditions = {
  /** What the account did, also as an admin. */
  readonly isOwn: Sql
  /** The spending limits that admins have set for it or its API keys. */
  readonly isAboutIt: Sql
}

/** Finds the logins and keys of an account, and makes the conditions for its events. */
export async function findEventConditions(prisma: PrismaClient, accountId: string): Promise<EventConditions> {
  const ids = await findLoginsAndKeys(prisma, accountId)
  // The start of a login that named no account has the network address of the person who approved the login.
  const isItsStart = sql`account_id IS NULL AND subject_id = ANY(${ids})`
  return {
    isOwn: sql`(account_id = ${accountId}::uuid OR details->>'adminId' = ${accountId} OR ${isItsStart})`,
    isAboutIt: sql`coalesce(details->>'of', '') = ANY(${[accountId, ...ids]})`,
  }
}

/** The ids of the logins and API keys of an account, also of those that housekeeping has deleted. */
async function findLoginsAndKeys(prisma: PrismaClient, accountId: string): Promise<string[]> {
  const rows = await prisma.$queryRaw<{ id: string }[]>`
    SELECT subject_id AS id FROM audit_events
    WHERE account_id = ${accountId}::uuid
      AND (kind LIKE 'device_login.%' OR kind LIKE 'api_key.%' AND details->>'serviceAccount' IS NULL)
    UNION
    SELECT k.id::text FROM api_keys k JOIN invitations i ON i.id = k.invitation_id
    WHERE i.account_id = ${accountId}::uuid`
  return rows.map(({ id }) => id)
}
