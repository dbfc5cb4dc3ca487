import type { Prisma, PrismaClient } from '../../../generated/prisma/client.ts'
import { withRetry } from '../../database/errors.ts'
import { saveBrowserSession } from '../browser-session/store.ts'
import type { SignedInBrowser } from '../browser-session/store.ts'
import type { FoundLogin } from './rows.ts'

/** Who decides a login, and how. `sessionId` is null when the email's link alone decides. */
export type Decision = {
  readonly via: 'mail' | 'session' | 'user_code'
  readonly sessionId: string | null
  readonly ip: string
}

export type LoginChanges = Prisma.DeviceLoginUncheckedUpdateManyInput

/** One way to decide a login. */
type Change = {
  readonly kind: 'device_login.approved' | 'device_login.denied'
  /** Which state the login must be in. */
  readonly where: Prisma.DeviceLoginWhereInput
  readonly data: LoginChanges
  /** Written besides when the login was not approved before. */
  readonly whenFirst?: LoginChanges
  readonly browser?: SignedInBrowser | null
}

/**
 * Decides a login with one conditional write and its audit row. True for exactly one of concurrent callers; the others
 * change nothing. A login that names no account gets the account that approves it first.
 */
export async function decideOnce(
  db: PrismaClient,
  login: FoundLogin,
  now: Date,
  decision: Decision,
  { kind, where, data, whenFirst, browser }: Change,
): Promise<boolean> {
  const { via, sessionId, ip } = decision
  const named = login.unnamed ? { where: { invitationId: null }, data: { invitationId: login.invitationId } } : {}
  const details = { via, deviceId: login.deviceId, ...(sessionId && { sessionId }) }
  return withRetry(() =>
    db.$transaction(async (tx) => {
      // Waits for a withdrawal of the invitation and then decides nothing, so that no approval or session outlives it.
      // This lock comes before the login's, as in every other transaction, so that two of them cannot wait for each
      // other.
      const [invited] = await tx.$queryRaw<{ teamId: string }[]>`
        SELECT team_id::text AS "teamId" FROM invitations
        WHERE id = ${login.invitationId}::uuid AND revoked_at IS NULL FOR SHARE`
      if (!invited) return false
      const change = async (first: Pick<Change, 'where' | 'data'>) => {
        const { count } = await tx.deviceLogin.updateMany({
          where: { id: login.id, ...where, ...named.where, ...first.where },
          data: { ...data, ...named.data, ...first.data },
        })
        return count === 1
      }
      const isFirst = whenFirst ? await change({ where: { approvedAt: null }, data: whenFirst }) : false
      if (!isFirst && !(await change({ where: {}, data: {} }))) return false
      // In the same transaction, so that the browser never has two live sessions.
      if (browser) await saveBrowserSession(tx, browser, login.accountId, now, ip)
      await tx.auditEvent.create({
        data: { at: now, kind, accountId: login.accountId, ...invited, subjectId: login.id, ip, details },
      })
      return true
    }),
  )
}

/** Denies a pending login; false when it is not pending any more. */
export function denyOnce(db: PrismaClient, login: FoundLogin, now: Date, decision: Decision): Promise<boolean> {
  return decideOnce(db, login, now, decision, {
    kind: 'device_login.denied',
    where: { status: 'pending', expiresAt: { gt: now } },
    data: { status: 'denied' },
  })
}

/** What an approval writes: when, how, and by which session. */
export function approvalOf(now: Date, { via, sessionId }: Decision): LoginChanges {
  return { approvedAt: now, approvedVia: via, ...(sessionId && { approverSessionId: sessionId }) }
}
