import type { PrismaClient } from '../../../generated/prisma/client.ts'
import { approvalOf, decideOnce, denyOnce } from '../device-login/decide.ts'
import type { Decision } from '../device-login/decide.ts'
import { toLogin, WITH_PEOPLE } from '../device-login/rows.ts'
import type { FoundLogin } from '../device-login/rows.ts'

export type UserCodeStore = ReturnType<typeof makeUserCodeStore>

/** Logins, as their user codes find and decide them. */
export function makeUserCodeStore(db: PrismaClient) {
  return {
    /**
     * The login of this account, or one that names no account, by its user code; null also when the code is another
     * account's.
     */
    async findByUserCode(
      userCode: string,
      { accountId, invitationId }: { readonly accountId: string; readonly invitationId: string },
    ): Promise<FoundLogin | null> {
      const row = await db.deviceLogin.findFirst({
        where: { userCode, OR: [{ invitation: { accountId } }, { invitationId: null }] },
        include: WITH_PEOPLE,
      })
      if (!row) return null
      if (row.invitation) return toLogin(row, row.invitation)
      const callers = { where: { id: invitationId }, include: WITH_PEOPLE.invitation.include }
      return toLogin(row, await db.invitation.findUniqueOrThrow(callers))
    },

    /** Approves a pending login; false when it is not pending any more. */
    approve: (login: FoundLogin, now: Date, decision: Decision): Promise<boolean> =>
      decideOnce(db, login, now, decision, {
        kind: 'device_login.approved',
        where: { status: 'pending', expiresAt: { gt: now } },
        data: { status: 'approved', ...approvalOf(now, decision) },
      }),

    /** Denies a pending login; false when it is not pending any more. */
    deny: (login: FoundLogin, now: Date, decision: Decision): Promise<boolean> => denyOnce(db, login, now, decision),
  }
}
