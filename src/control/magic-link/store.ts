import { sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { approvalOf, decideOnce, denyOnce } from '../device-login/decide.ts'
import type { Decision } from '../device-login/decide.ts'
import { findLoginRow, toFoundLogin } from '../device-login/rows.ts'
import type { FoundLogin } from '../device-login/rows.ts'
import type { LinkKind } from './rules.ts'

/** A login, found by one of its links. */
export type LinkedLogin = FoundLogin & { readonly link: LinkKind; readonly usedAt: Date | null }

export type MagicLinkStore = ReturnType<typeof makeMagicLinkStore>

/** Logins, as their links find and decide them. */
export function makeMagicLinkStore(database: Statements) {
  return {
    async findByLink(hash: SecretHash): Promise<LinkedLogin | null> {
      // A login that names no account has links, but they are never sent. Each hash has an index; with OR, the plan for
      // a small table reads all of it, and is kept when the table has grown.
      const row = await findLoginRow(
        database,
        sql`login.invitation_id IS NOT NULL AND login.id = (
          SELECT id FROM device_logins WHERE mail_token_hash = ${hash}
          UNION ALL SELECT id FROM device_logins WHERE handle_token_hash = ${hash} LIMIT 1)`,
      )
      if (!row) return null
      return row.mailTokenHash === hash
        ? { ...toFoundLogin(row), link: 'mail', usedAt: row.mailUsedAt }
        : { ...toFoundLogin(row), link: 'handle', usedAt: row.handleUsedAt }
    },

    /**
     * Approves a login by a link, once per link, and begins the browser session that comes with it. A login that was
     * approved in another way keeps that approval.
     */
    approve(login: LinkedLogin, now: Date, decision: Decision, browser: SignedInBrowser | null): Promise<boolean> {
      const usedAt = login.link === 'mail' ? sql`mail_used_at` : sql`handle_used_at`
      return decideOnce(database, login, now, decision, {
        kind: 'device_login.approved',
        where: sql`
          login.${usedAt} IS NULL AND login.status IN ('pending', 'approved')
          AND login.expires_at > ${now}::timestamptz`,
        set: sql`${usedAt} = ${now}::timestamptz, ${approvalOf(now, decision)}`,
        browser,
      })
    },

    /** Denies a pending login; false when it is not pending any more. */
    deny: (login: LinkedLogin, now: Date, decision: Decision): Promise<boolean> =>
      denyOnce(database, login, now, decision),
  }
}
