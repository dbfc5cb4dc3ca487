import type { Database } from '../../database/client.ts'
import { withRetry } from '../../database/errors.ts'
import { sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import { inTransaction } from '../../database/transaction.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import { completeSession } from './complete-session.ts'
import type { Completion } from './complete-session.ts'
import { endDeviceSessions } from './end-device-sessions.ts'
import type { RevokeReason } from './end-device-sessions.ts'
import { SESSION_COLUMNS, toSession, withPeople } from './rows.ts'
import type { DeviceSession, SessionRow } from './rows.ts'
import type { ApprovedVia } from './rules.ts'
import { saveSession } from './save-session.ts'
import type { NewDeviceSession } from './save-session.ts'

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

/** A session of a device that signs in. `isComplete`: its notice was claimed, and those that it replaces ended. */
export type OpenedSession = DeviceSession & { readonly isComplete: boolean }

export type DeviceSessionStore = ReturnType<typeof makeDeviceSessionStore>

/** The rows of device sessions. A statement that conflicts with another one is repeated. */
export function makeDeviceSessionStore(database: Database) {
  const { prisma, query, execute } = database
  return {
    /**
     * Opens the session of a device. A login has one session: the first poll makes it, every later poll finds it.
     * `not_invited`, `expired` and `unauthorized` say that the invitation was withdrawn, the login cancelled or the
     * passkey removed in the meantime.
     */
    async open(
      session: NewDeviceSession,
      approvedVia: ApprovedVia,
      browser: SignedInBrowser | null,
    ): Promise<OpenedSession | 'not_invited' | 'expired' | 'unauthorized'> {
      const save = () => withRetry(() => saveSession(database, session, approvedVia, browser))
      // A session that a concurrent poll has saved is seen by the next statement.
      const row = (await save()) ?? (await save())
      if (!row && !(await isInvited(database, session.invitationId))) return 'not_invited'
      if (!row) return session.loginId === null ? 'unauthorized' : 'expired'
      return { ...toSession(row), isComplete: row.noticeTakenAt !== null }
    },

    /** Claims the notice of a new session and ends the sessions that it replaces. */
    complete: (id: string, now: Date, ip: string): Promise<Completion> =>
      withRetry(() => completeSession(database, id, now, ip)),

    async find(id: string): Promise<ReadDeviceSession | null> {
      const [row] = await query<SessionRow & { readAt: Date }>(sql`
        SELECT ${SESSION_COLUMNS}, clock_timestamp() AS "readAt" FROM ${withPeople(sql`device_sessions`)}
        WHERE session.id = ${id}::uuid`)
      return row ? { ...toSession(row), readAt: row.readAt } : null
    },

    /**
     * Moves a session on from the generation that was read; false when another refresh did, when the session has ended,
     * or when it was read too long ago. A database that hangs can do this long after the caller saw it fail. The client
     * would then repeat its refresh too late, and lose its session.
     */
    async rotate({ id, generation, readAt }: ReadDeviceSession, next: Rotation): Promise<boolean> {
      const count = await withRetry(() =>
        execute(sql`
          UPDATE device_sessions session SET generation = session.generation + 1,
            rotated_at = ${next.rotatedAt}::timestamptz, last_seen_at = ${next.rotatedAt}::timestamptz,
            last_ip = ${next.ip}, idle_expires_at = ${next.idleExpiresAt}::timestamptz,
            client_fingerprint = ${next.fingerprint}
          FROM invitations invitation
          WHERE session.id = ${id}::uuid AND session.generation = ${generation} AND session.revoked_at IS NULL
            AND invitation.id = session.invitation_id AND invitation.revoked_at IS NULL
            AND clock_timestamp() < ${readAt}::timestamptz + ${MAX_ROTATION_SECONDS} * interval '1 second'`),
      )
      return count === 1
    },

    /** Ends a session with its audit row; false when it had ended before. */
    async revoke(id: string, reason: RevokeReason, now: Date, ip: string): Promise<boolean> {
      const ended = await inTransaction(prisma, (tx) => endDeviceSessions(tx, { id }, { at: now, reason, ip }))
      return ended.length === 1
    },
  }
}

async function isInvited({ query }: Statements, invitationId: string): Promise<boolean> {
  const rows = await query<object>(sql`
    SELECT id FROM invitations WHERE id = ${invitationId}::uuid AND revoked_at IS NULL`)
  return rows.length === 1
}
