import type { Prisma } from '../../../generated/prisma/client.ts'
import type { Database, Transaction } from '../../database/client.ts'
import { NO_SQL, sql } from '../../database/sql.ts'
import type { Sql } from '../../database/sql.ts'
import { inTransaction } from '../../database/transaction.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { teamNameOf } from '../../kernel/team-name.ts'
import { toRevokedEvents } from '../audit/ended-sessions.ts'
import type { SessionEnd } from '../audit/ended-sessions.ts'
import { insertEvents } from '../audit/insert-events.ts'
import { isLive } from '../tokens/complete-session.ts'
import type { BrowserSessionTimes } from './rules.ts'

/** The row of a session that begins. */
export type NewBrowserSession = {
  readonly id: string
  readonly hash: SecretHash
  readonly invitationId: string
  /** When the person signed in, which is the first use of the session. */
  readonly createdAt: Date
  readonly idleExpiresAt: Date
  readonly absoluteExpiresAt: Date
  readonly ip: string
  readonly userAgent: string
  /** The device session of the same sign-in, with which it ends. */
  readonly deviceSessionId?: string
}

/** A session that was found by its cookie. */
export type FoundBrowserSession = {
  readonly caller: Caller
  readonly times: BrowserSessionTimes
  /** The device session that it depends on; null: none. */
  readonly deviceSessionId: string | null
}

/**
 * Not revoked, and neither is its invitation nor the device session that it depends on. Times are judged by the rules.
 */
const ALIVE = {
  revokedAt: null,
  invitation: { revokedAt: null },
  OR: [{ deviceSessionId: null }, { deviceSession: { revokedAt: null } }],
} satisfies Prisma.BrowserSessionWhereInput

export type BrowserSessionStore = ReturnType<typeof makeBrowserSessionStore>

/** The rows of browser sessions. */
export function makeBrowserSessionStore({ prisma: db }: Pick<Database, 'prisma'>) {
  return {
    /** The caller of a live session and the session's times, which the rules judge. Null when it was revoked. */
    async find(hash: SecretHash): Promise<FoundBrowserSession | null> {
      const row = await db.browserSession.findFirst({
        where: { hash, ...ALIVE },
        include: { invitation: { include: { team: { include: { organization: true } } } } },
      })
      if (!row) return null
      const { accountId, role, team } = row.invitation
      const caller = {
        accountId,
        sessionId: row.id,
        sessionKind: 'browser',
        organization: team.organization.name,
        team: teamNameOf(team),
        role,
        authenticatedAt: row.authenticatedAt,
      } as const
      return { caller, times: row, deviceSessionId: row.deviceSessionId }
    },

    /** A live session with the device session of the same browser. */
    async findLinked(hash: SecretHash) {
      return db.browserSession.findFirst({
        where: { hash, ...ALIVE },
        select: {
          id: true,
          deviceSessionId: true,
          deviceSession: { select: { deviceId: true } },
          invitation: { select: { accountId: true } },
        },
      })
    },

    /** Which of these sessions were not revoked. */
    async findAlive(sessionIds: readonly string[]): Promise<Set<string>> {
      const rows = await db.browserSession.findMany({
        where: { id: { in: [...sessionIds] }, ...ALIVE },
        select: { id: true },
      })
      return new Set(rows.map(({ id }) => id))
    },

    /**
     * Saves a use of a session, and of the device session that it depends on. Two statements, because those that end
     * both lock them in the other order.
     */
    async touch(
      { caller, deviceSessionId }: FoundBrowserSession,
      { lastSeenAt, idleExpiresAt }: { readonly lastSeenAt: Date; readonly idleExpiresAt: Date },
      ip: string,
    ): Promise<void> {
      const browser = { id: caller.sessionId, revokedAt: null }
      await db.browserSession.updateMany({ where: browser, data: { lastSeenAt, idleExpiresAt, ip } })
      if (deviceSessionId === null) return
      const device = { id: deviceSessionId, revokedAt: null }
      await db.deviceSession.updateMany({ where: device, data: { lastSeenAt, lastIp: ip } })
    },

    /** Signs a session out, with its audit row. A session that has ended stays unchanged. */
    async signOut(id: string, now: Date, ip: string): Promise<void> {
      await inTransaction(db, (tx) => endBrowserSessions(tx, { id }, { at: now, reason: 'logout', ip }))
    },
  }
}

/**
 * The browser session that a sign-in begins, and the session of the same browser that it replaces; null when there was
 * none.
 */
export type SignedInBrowser = { readonly session: NewBrowserSession; readonly replaces: SecretHash | null }

/**
 * Further steps of a `WITH` that begin the session of a browser and end the one that it replaces, with its audit row,
 * so that a browser never has two. `signedIn`: the earlier step whose row, with the `account_id`, says that the person
 * is signed in. Without that row these steps change nothing.
 *
 * The replaced session may depend on a device session. One of the same account goes on, and this sign-in is its last
 * use: the new session then depends on it, because it is the same browser. Not where the device session may expire
 * first: the lists would then not show a browser that is still signed in. One of another account ends too: the browser
 * has a refresh token of it, which would keep that account signed in here.
 */
export function beginSession(browser: SignedInBrowser | null, signedIn: Sql): Sql {
  if (!browser) return NO_SQL
  const { session, replaces } = browser
  const { createdAt: now, ip } = session
  const subjects = sql`
    SELECT replaced.id, account_id, team_id
    FROM replaced JOIN invitations invitation ON invitation.id = replaced.invitation_id`
  const revoked = { at: now, ip, details: { reason: 'replaced' } }
  return sql`, replaced AS (
      UPDATE browser_sessions SET revoked_at = ${now}::timestamptz, revoked_reason = 'replaced'
      WHERE hash = ${replaces} AND revoked_at IS NULL AND EXISTS (SELECT FROM ${signedIn})
      RETURNING id, invitation_id, device_session_id
    ), replaced_event AS (
      ${insertEvents({ kind: 'browser_session.revoked', ...revoked, subjects })}
    ), device AS (
      SELECT live.id, idle_expires_at, invitation.account_id, invitation.team_id,
        invitation.account_id = signed_in.account_id AS is_own
      FROM replaced
      JOIN invitations invitation ON invitation.id = replaced.invitation_id
      CROSS JOIN ${signedIn} signed_in
      -- With OFFSET 0, no plan reads all live device sessions.
      JOIN LATERAL (SELECT * FROM device_sessions WHERE id = replaced.device_session_id OFFSET 0) live
        ON live.revoked_at IS NULL
      WHERE invitation.revoked_at IS NULL
    ), ended_device AS (
      UPDATE device_sessions session SET revoked_at = ${now}::timestamptz, revoked_reason = 'replaced'
      FROM device WHERE session.id = device.id AND NOT is_own AND ${isLive(sql`session`)}
      RETURNING session.id, account_id, team_id
    ), ended_device_event AS (
      ${insertEvents({ kind: 'device_session.revoked', ...revoked, subjects: sql`SELECT * FROM ended_device` })}
    ), kept_device AS (
      UPDATE device_sessions session SET last_seen_at = ${now}::timestamptz, last_ip = ${ip}
      FROM device WHERE session.id = device.id AND is_own AND ${isLive(sql`session`)}
        AND device.idle_expires_at >= ${session.absoluteExpiresAt}::timestamptz
      RETURNING session.id
    ), begun AS (
      INSERT INTO browser_sessions (
        id, hash, invitation_id, device_session_id, created_at, authenticated_at, last_seen_at, idle_expires_at,
        absolute_expires_at, ip, user_agent
      )
      SELECT ${session.id}::uuid, ${session.hash}, ${session.invitationId}::uuid,
        coalesce(${session.deviceSessionId ?? null}::uuid, (SELECT id FROM kept_device)),
        ${now}::timestamptz, ${now}::timestamptz, ${now}::timestamptz, ${session.idleExpiresAt}::timestamptz,
        ${session.absoluteExpiresAt}::timestamptz, ${ip}, ${session.userAgent}
      FROM ${signedIn}
    )`
}

/** Ends live browser sessions, with an audit row for each. Returns how many. */
export async function endBrowserSessions(
  tx: Transaction,
  where: Prisma.BrowserSessionWhereInput,
  end: SessionEnd,
): Promise<number> {
  const rows = await tx.browserSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: { revokedAt: end.at, revokedReason: end.reason },
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  const events = toRevokedEvents('browser_session.revoked', rows, end)
  await tx.auditEvent.createMany({ data: events })
  return rows.length
}
