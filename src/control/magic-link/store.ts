import type { PrismaClient } from '../../../generated/prisma/client.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { approvalOf, decideOnce, denyOnce } from '../device-login/decide.ts'
import type { Decision } from '../device-login/decide.ts'
import { toNamedLogin, WITH_PEOPLE } from '../device-login/rows.ts'
import type { FoundLogin } from '../device-login/rows.ts'
import type { LinkKind } from './rules.ts'

/** A login, found by one of its links. */
export type LinkedLogin = FoundLogin & { readonly link: LinkKind; readonly usedAt: Date | null }

export type MagicLinkStore = ReturnType<typeof makeMagicLinkStore>

/** Logins, as their links find and decide them. */
export function makeMagicLinkStore(db: PrismaClient) {
  return {
    async findByLink(hash: SecretHash): Promise<LinkedLogin | null> {
      const row = await db.deviceLogin.findFirst({
        // A login that names no account has links, but they are never sent.
        where: { invitationId: { not: null }, OR: [{ mailTokenHash: hash }, { handleTokenHash: hash }] },
        include: WITH_PEOPLE,
      })
      if (!row) return null
      return row.mailTokenHash === hash
        ? { ...toNamedLogin(row), link: 'mail', usedAt: row.mailUsedAt }
        : { ...toNamedLogin(row), link: 'handle', usedAt: row.handleUsedAt }
    },

    /**
     * Approves a login by a link, once per link, and begins the browser session that comes with it. A login that was
     * approved in another way keeps that approval.
     */
    approve(login: LinkedLogin, now: Date, decision: Decision, browser: SignedInBrowser | null): Promise<boolean> {
      const column = login.link === 'mail' ? 'mailUsedAt' : 'handleUsedAt'
      return decideOnce(db, login, now, decision, {
        kind: 'device_login.approved',
        where: { [column]: null, status: { in: ['pending', 'approved'] }, expiresAt: { gt: now } },
        data: { [column]: now, status: 'approved' },
        whenFirst: approvalOf(now, decision),
        browser,
      })
    },

    /** Denies a pending login; false when it is not pending any more. */
    deny: (login: LinkedLogin, now: Date, decision: Decision): Promise<boolean> => denyOnce(db, login, now, decision),
  }
}
