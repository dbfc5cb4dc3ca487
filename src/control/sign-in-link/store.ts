import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { withRetry } from '../../database/errors.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { saveBrowserSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { SignInLinkState } from './rules.ts'

export type NewSignInLink = {
  readonly hash: SecretHash
  readonly invitationId: string
  readonly accountId: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** The address that asked for it. */
  readonly ip: string
}

/** A link with the account and the team that it signs in to. */
export type SignInLink = SignInLinkState & {
  readonly hash: SecretHash
  readonly invitationId: string
  readonly accountId: string
  readonly email: string
  /** `@organization/name` */
  readonly team: string
  readonly createdAt: Date
  readonly ip: string
}

export type SignInLinkStore = ReturnType<typeof makeSignInLinkStore>

/** The links that sign browsers in. */
export function makeSignInLinkStore(db: PrismaClient) {
  return {
    /** Saves a link with its audit row. */
    async save({ accountId, ...link }: NewSignInLink): Promise<void> {
      const { createdAt: at, ip } = link
      await db.$transaction([
        db.signInLink.create({ data: link }),
        db.auditEvent.create({ data: { at, kind: 'sign_in_link.requested', accountId, ip } }),
      ])
    },

    /** Removes a link whose email was not accepted. */
    async remove(hash: SecretHash): Promise<void> {
      await db.signInLink.deleteMany({ where: { hash } })
    },

    /** The link of a token; null when there is none. */
    async find(hash: SecretHash): Promise<SignInLink | null> {
      const row = await db.signInLink.findUnique({
        where: { hash },
        include: { invitation: { include: { account: true, team: { include: { organization: true } } } } },
      })
      if (!row) return null
      const { account, team, revokedAt } = row.invitation
      return {
        ...row,
        hash,
        accountId: account.id,
        email: account.email,
        team: formatTeamName({ organization: team.organization.name, name: team.name }),
        invited: revokedAt === null,
      }
    },

    /**
     * Uses a link up and begins its browser session, with the audit row. True for exactly one of concurrent callers;
     * the others change nothing.
     */
    async consume(link: SignInLink, browser: SignedInBrowser, now: Date, ip: string): Promise<boolean> {
      return withRetry(() =>
        db.$transaction(async (tx) => {
          // Waits for a withdrawal of the invitation and then begins nothing, so that no session outlives it. This lock
          // comes first, as in every other transaction.
          const [invited] = await tx.$queryRaw<{ teamId: string }[]>`
            SELECT team_id::text AS "teamId" FROM invitations
            WHERE id = ${link.invitationId}::uuid AND revoked_at IS NULL FOR SHARE`
          if (!invited) return false
          const { count } = await tx.signInLink.updateMany({
            where: { hash: link.hash, usedAt: null, expiresAt: { gt: now } },
            data: { usedAt: now },
          })
          if (count === 0) return false
          const subjectId = await saveBrowserSession(tx, browser, link.accountId, now, ip)
          const event = {
            at: now,
            kind: 'browser_session.opened',
            accountId: link.accountId,
            ...invited,
            subjectId,
            ip,
          }
          await tx.auditEvent.create({ data: { ...event, details: { via: 'sign_in_link' } } })
          return true
        }),
      )
    },
  }
}
