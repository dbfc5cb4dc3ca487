import type { Database } from '../../database/client.ts'
import { withRetry } from '../../database/errors.ts'
import { sql } from '../../database/sql.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { teamNameOf } from '../../kernel/team-name.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { beginSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { SignInLinkState } from './rules.ts'

export type NewSignInLink = {
  readonly hash: SecretHash
  readonly invitationId: string
  readonly createdAt: Date
  readonly expiresAt: Date
  /** The IP address that asked for it. */
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
export function makeSignInLinkStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** Saves a link with its audit row; false when the invitation has been withdrawn. */
    async save({ hash, invitationId, createdAt: at, expiresAt, ip }: NewSignInLink): Promise<boolean> {
      const subjects = sql`SELECT NULL::text, account_id, NULL::uuid FROM invited JOIN saved USING (id)`
      // The lock waits for a withdrawal, so that no link is left when the person is invited again.
      const count = await db.$executeRaw`
        WITH invited AS (
          SELECT id, account_id FROM invitations
          WHERE id = ${invitationId}::uuid AND revoked_at IS NULL FOR SHARE
        ), saved AS (
          INSERT INTO sign_in_links (hash, invitation_id, created_at, expires_at, ip)
          SELECT ${hash}, id, ${at}::timestamptz, ${expiresAt}::timestamptz, ${ip} FROM invited
          RETURNING invitation_id AS id
        )
        ${insertEvents({ kind: 'sign_in_link.requested', at, ip, details: {}, subjects })}`
      return count === 1
    },

    /** Removes a link whose email was not accepted, with its audit row. `ip`: of the request for it. */
    async cancel(hash: SecretHash, ip: string, at: Date): Promise<void> {
      const subjects = sql`
        SELECT NULL::text, account_id, NULL::uuid
        FROM removed JOIN invitations invitation ON invitation.id = invitation_id`
      await db.$executeRaw`
        WITH removed AS (
          DELETE FROM sign_in_links WHERE hash = ${hash} AND used_at IS NULL RETURNING invitation_id
        )
        ${insertEvents({ kind: 'sign_in_link.cancelled', at, ip, details: { reason: 'mail_failed' }, subjects })}`
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
        team: teamNameOf(team),
        invited: revokedAt === null,
      }
    },

    /**
     * Uses a link up and begins its browser session, with the audit row. True for exactly one of concurrent callers;
     * the others change nothing.
     */
    async consume(link: SignInLink, browser: SignedInBrowser): Promise<boolean> {
      const { id, createdAt: now, ip } = browser.session
      const subjects = sql`SELECT ${id}::uuid, account_id, team_id FROM used`
      const opened = { kind: 'browser_session.opened', at: now, ip, details: { via: 'sign_in_link' }, subjects }
      // The lock waits for a withdrawal of the invitation, and then nothing begins, so that no session outlives it. It
      // is the first one, as everywhere.
      const count = await withRetry(
        () => db.$executeRaw`
          WITH invited AS (
            SELECT account_id, team_id FROM invitations
            WHERE id = ${link.invitationId}::uuid AND revoked_at IS NULL FOR SHARE
          ), used AS (
            UPDATE sign_in_links SET used_at = ${now}::timestamptz FROM invited
            WHERE hash = ${link.hash} AND used_at IS NULL AND expires_at > ${now}::timestamptz
            RETURNING invited.account_id, invited.team_id
          )${beginSession(browser, sql`used`)}
          ${insertEvents(opened)}`,
      )
      return count === 1
    },
  }
}
