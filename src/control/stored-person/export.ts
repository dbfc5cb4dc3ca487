import type { Database } from '../../database/client.ts'
import { findEventConditions } from './audit-events.ts'
import { unknownPerson } from './unknown-person.ts'

/**
 * What is stored of the account with this address, as JSON without secrets. Rejects with an `OperatorError` when there
 * is no such account.
 */
export async function exportAccount({ prisma }: Pick<Database, 'prisma'>, email: string): Promise<string> {
  const account = await prisma.account.findUnique({ where: { email }, select: { id: true } })
  if (!account) throw unknownPerson(email)
  const { isOwn, isAboutIt } = await findEventConditions(prisma, account.id)
  const [found] = await prisma.$queryRaw<{ stored: string }[]>`
    SELECT jsonb_pretty(jsonb_build_object(
      'account', to_jsonb(a) - 'user_handle',
      'teams', ARRAY(SELECT to_jsonb(i) FROM invitations i WHERE i.account_id = a.id),
      'logins', ARRAY(SELECT to_jsonb(l) - ARRAY[
          'device_code_hash', 'user_code', 'mail_token_hash', 'handle_token_hash'] FROM device_logins l
        JOIN invitations i ON i.id = l.invitation_id WHERE i.account_id = a.id),
      'links', ARRAY(SELECT to_jsonb(l) - 'hash' FROM sign_in_links l
        JOIN invitations i ON i.id = l.invitation_id WHERE i.account_id = a.id),
      'devices', ARRAY(SELECT to_jsonb(d) - 'salt' FROM device_sessions d
        JOIN invitations i ON i.id = d.invitation_id WHERE i.account_id = a.id),
      'browsers', ARRAY(SELECT to_jsonb(b) - 'hash' FROM browser_sessions b
        JOIN invitations i ON i.id = b.invitation_id WHERE i.account_id = a.id),
      'passkeys', ARRAY(SELECT to_jsonb(p) - 'public_key' FROM passkeys p WHERE p.account_id = a.id),
      'keys', ARRAY(SELECT to_jsonb(k) - 'hash' FROM api_keys k
        JOIN invitations i ON i.id = k.invitation_id WHERE i.account_id = a.id),
      'limits', ARRAY(SELECT to_jsonb(l) FROM spending_limits l WHERE l.account_id = a.id OR l.key_id IN (
        SELECT k.id FROM api_keys k JOIN invitations i ON i.id = k.invitation_id WHERE i.account_id = a.id)),
      'usage', ARRAY(SELECT to_jsonb(u) FROM usage_days u WHERE u.account_id = a.id),
      'calls', ARRAY(SELECT to_jsonb(c) FROM call_events c WHERE c.account_id = a.id),
      'sessions', ARRAY(SELECT to_jsonb(s) FROM agent_sessions s WHERE s.account_id = a.id),
      'audit', ARRAY(SELECT to_jsonb(e) FROM audit_events e WHERE ${isOwn} OR ${isAboutIt})
    )) AS stored
    FROM accounts a WHERE a.id = ${account.id}::uuid`
  if (!found) throw unknownPerson(email)
  return found.stored
}
