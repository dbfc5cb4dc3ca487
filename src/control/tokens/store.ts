import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { withRetry } from '../../database/errors.ts'
import { sql } from '../../database/sql.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { endSessions } from './end-sessions.ts'
import type { RevokeReason } from './end-sessions.ts'
import { SESSION_COLUMNS, toSession, withPeople } from './rows.ts'
import type { DeviceSession, SessionRow } from './rows.ts'
import { pickReplaced } from './rules.ts'
import type { ApprovedVia } from './rules.ts'
import { saveSession } from './save-session.ts'
import type { NewDeviceSession, SavedRow } from './save-session.ts'

/** What a refresh changes, besides the generation. */
type Rotation = {
  readonly rotatedAt: Date
  readonly ip: string
  readonly idleExpiresAt: Date
  readonly fingerprint: string
}

/**
 * How long after a session was read a refresh may still move it on: longer than all waits for the database together,
 * and shorter than the time in which a client may repeat a refresh.
 */
const MAX_ROTATION_SECONDS = 5

/** A session that was read, and when: by the clock of the database, which no other clock is compared with. */
export type ReadDeviceSession = DeviceSession & { readonly readAt: Date }

export type DeviceSessionStore = ReturnType<typeof makeDeviceSessionStore>

/** The rows of device sessions. A transaction that conflicts with another one is repeated. */
export function makeDeviceSessionStore(db: PrismaClient) {
  const inTransaction = <T>(run: (tx: Prisma.TransactionClient) => Promise<T>) => withRetry(() => db.$transaction(run))

  return {
    /**
     * Opens the session of a device. A login has one session: the first poll makes it, every later poll finds it.
     * Making it ends the account's other sessions of the same device and those beyond `MAX_DEVICES`; `replaced` has
     * their ids. `tookNotice`: the process that made the session has not taken the notice, and this call has.
     * `not_invited` and `expired` say that the invitation was withdrawn or the login cancelled in the meantime.
     */
    async open(
      session: NewDeviceSession,
      approvedVia: ApprovedVia,
      browser: SignedInBrowser | null,
    ): Promise<
      { session: DeviceSession; isNew: boolean; tookNotice: boolean; replaced: string[] } | 'not_invited' | 'expired'
    > {
      return inTransaction(async (tx) => {
        // This lock serialises concurrent polls of one account, and a withdrawal. FOR UPDATE would also wait for an
        // approval, because its new browser session references the invitation; the approval may wait for this login's
        // row, which would be a deadlock. It is a statement of its own, so that the next one sees what it waited for.
        const invited = await tx.$queryRaw<{ id: string }[]>`
          SELECT i.id FROM invitations i JOIN accounts a ON a.id = i.account_id
          WHERE i.id = ${session.invitationId}::uuid AND i.revoked_at IS NULL FOR NO KEY UPDATE`
        if (invited.length === 0) return 'not_invited'
        const row = await saveSession(tx, session, approvedVia, browser)
        if (!row) return 'expired'
        if (row.id !== session.id) {
          // In this transaction, because concurrent polls would otherwise all queue for a connection a second time.
          const tookNotice = row.noticeTakenAt === null && (await takeNotice(tx, row.id, session.createdAt))
          return { session: toSession(row), isNew: false, tookNotice, replaced: [] }
        }
        const replaced = await endReplaced(tx, session, row)
        return { session: toSession(row), isNew: true, tookNotice: false, replaced }
      })
    },

    /**
     * True for exactly one caller, which then tells the owner of the session by email. False once the session has
     * ended.
     */
    takeNotice: (id: string, now: Date): Promise<boolean> => takeNotice(db, id, now),

    async find(id: string): Promise<ReadDeviceSession | null> {
      const [row] = await db.$queryRaw<(SessionRow & { readAt: Date })[]>`
        SELECT ${SESSION_COLUMNS}, clock_timestamp() AS "readAt" FROM ${withPeople(sql`device_sessions`)}
        WHERE session.id = ${id}::uuid`
      return row ? { ...toSession(row), readAt: row.readAt } : null
    },

    /**
     * Moves a session on from the generation that was read; false when another refresh did, when the session has ended,
     * or when it was read too long ago. A database that hangs can do this long after the caller saw it fail. The client
     * would then repeat its refresh too late, and lose its session.
     */
    async rotate({ id, generation, readAt }: ReadDeviceSession, next: Rotation): Promise<boolean> {
      const count = await withRetry(
        () => db.$executeRaw`
          UPDATE device_sessions session SET generation = session.generation + 1,
            rotated_at = ${next.rotatedAt}::timestamptz, last_seen_at = ${next.rotatedAt}::timestamptz,
            last_ip = ${next.ip}, idle_expires_at = ${next.idleExpiresAt}::timestamptz,
            client_fingerprint = ${next.fingerprint}
          FROM invitations invitation
          WHERE session.id = ${id}::uuid AND session.generation = ${generation} AND session.revoked_at IS NULL
            AND invitation.id = session.invitation_id AND invitation.revoked_at IS NULL
            AND clock_timestamp() < ${readAt}::timestamptz + ${MAX_ROTATION_SECONDS} * interval '1 second'`,
      )
      return count === 1
    },

    /** Ends a session with its audit row; false when it had ended before. */
    async revoke(id: string, reason: RevokeReason, now: Date, ip: string): Promise<boolean> {
      const ended = await inTransaction((tx) => endSessions(tx, { id }, reason, now, ip))
      return ended.length === 1
    },
  }
}

async function takeNotice(tx: Prisma.TransactionClient, id: string, now: Date): Promise<boolean> {
  const count = await tx.$executeRaw`
    UPDATE device_sessions SET notice_taken_at = ${now}::timestamptz
    WHERE id = ${id}::uuid AND notice_taken_at IS NULL AND revoked_at IS NULL`
  return count === 1
}

/** Ends those of the other sessions that a new session replaces, each with its audit row. Returns their ids. */
async function endReplaced(
  tx: Prisma.TransactionClient,
  made: NewDeviceSession,
  { others }: SavedRow,
): Promise<string[]> {
  const live = others.map((other) => ({ ...other, lastSeenAt: new Date(other.lastSeenAt) }))
  const { replaced, surplus } = pickReplaced(live, made.deviceId)
  const end = (ids: readonly string[], reason: RevokeReason) =>
    ids.length === 0 ? [] : endSessions(tx, { id: { in: [...ids] } }, reason, made.createdAt, made.lastIp)
  return [...(await end(replaced, 'replaced')), ...(await end(surplus, 'surplus'))]
}
