import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import type { Caller } from '../../kernel/caller.ts'
import type { SecretHash } from '../../kernel/secret.ts'
import { formatTeamName } from '../../kernel/team-name.ts'
import { toRevokedEvents } from '../audit/ended-sessions.ts'
import type { BrowserSessionTimes } from './rules.ts'

/** The row of a session that begins. */
export type NewBrowserSession = Prisma.BrowserSessionUncheckedCreateInput & { hash: SecretHash }

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
export function makeBrowserSessionStore(db: PrismaClient) {
  return {
    /** The caller of a live session and the session's times, which the rules judge. Null when it was revoked. */
    async find(hash: SecretHash): Promise<{ caller: Caller; times: BrowserSessionTimes } | null> {
      const row = await db.browserSession.findFirst({
        where: { hash, ...ALIVE },
        include: { invitation: { include: { team: { include: { organization: true } } } } },
      })
      if (!row) return null
      const { id: invitationId, accountId, role, team } = row.invitation
      const organization = team.organization.name
      const caller = {
        accountId,
        invitationId,
        sessionId: row.id,
        sessionKind: 'browser',
        organization,
        team: formatTeamName({ organization, name: team.name }),
        role,
        authenticatedAt: row.authenticatedAt,
      } as const
      return { caller, times: row }
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

    /** Saves a use of a session. */
    async touch(sessionId: string, times: { lastSeenAt: Date; idleExpiresAt: Date }): Promise<void> {
      await db.browserSession.updateMany({ where: { id: sessionId, revokedAt: null }, data: times })
    },

    /** Ends a session with its audit row. A session that has ended stays unchanged. */
    async revoke(id: string, reason: 'logout', now: Date, ip: string): Promise<void> {
      await db.$transaction((tx) => endBrowserSessions(tx, { id }, reason, now, ip))
    },
  }
}

/**
 * The browser session that a sign-in begins, and the session of the same browser that it replaces; null when there was
 * none.
 */
export type SignedInBrowser = { readonly session: NewBrowserSession; readonly replaces: SecretHash | null }

/**
 * Saves a session that begins and ends the one that it replaces, so that a browser never has two. A replaced session of
 * the same account may depend on a device session; the new one then depends on it too, because it is the same browser.
 */
export async function saveBrowserSession(
  tx: Prisma.TransactionClient,
  { session, replaces }: SignedInBrowser,
  accountId: string,
  now: Date,
  ip: string,
): Promise<string> {
  const replaced =
    replaces &&
    (await tx.browserSession.findFirst({
      where: { hash: replaces, ...ALIVE, invitation: { accountId, revokedAt: null } },
    }))
  const deviceSessionId = session.deviceSessionId ?? replaced?.deviceSessionId ?? null
  const { id } = await tx.browserSession.create({ data: { ...session, deviceSessionId }, select: { id: true } })
  if (replaces) await endBrowserSessions(tx, { hash: replaces }, 'replaced', now, ip)
  return id
}

/**
 * Ends live browser sessions, with an audit row for each. `adminId`: the admin who did it for another person. Returns
 * how many.
 */
export async function endBrowserSessions(
  tx: Prisma.TransactionClient,
  where: Prisma.BrowserSessionWhereInput,
  reason: string,
  now: Date,
  ip: string,
  adminId?: string,
): Promise<number> {
  const rows = await tx.browserSession.updateManyAndReturn({
    where: { AND: [where, { revokedAt: null }] },
    data: { revokedAt: now, revokedReason: reason },
    select: { id: true, invitation: { select: { accountId: true, teamId: true } } },
  })
  const events = toRevokedEvents('browser_session.revoked', rows, { at: now, reason, ip, adminId })
  await tx.auditEvent.createMany({ data: events })
  return rows.length
}
