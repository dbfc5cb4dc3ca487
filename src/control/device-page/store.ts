import { sql } from '../../database/sql.ts'
import type { Statements } from '../../database/statements.ts'
import type { Actor } from '../../kernel/caller.ts'
import { approvalOf, decideOnce, denyOnce } from '../device-login/decide.ts'
import type { Decision } from '../device-login/decide.ts'
import { findLoginRow, toFoundLogin } from '../device-login/rows.ts'
import type { FoundLogin, SessionRef } from '../device-login/rows.ts'

export type UserCodeStore = ReturnType<typeof makeUserCodeStore>

/** Logins, as their user codes find and decide them. */
export function makeUserCodeStore(database: Statements) {
  return {
    /**
     * The login of this account, or one that names no account, by its user code; null also when the code is another
     * account's.
     */
    async findByUserCode(userCode: string, caller: SessionRef & Pick<Actor, 'accountId'>): Promise<FoundLogin | null> {
      const ofCaller = sql`login.user_code = ${userCode} AND account.id = ${caller.accountId}::uuid`
      const row = await findLoginRow(database, ofCaller, caller)
      return row && toFoundLogin(row)
    },

    /** Approves a pending login; false when it is not pending any more. */
    approve: (login: FoundLogin, now: Date, decision: Decision): Promise<boolean> =>
      decideOnce(database, login, now, decision, {
        kind: 'device_login.approved',
        where: sql`login.status = 'pending' AND login.expires_at > ${now}::timestamptz`,
        set: approvalOf(now, decision),
      }),

    /** Denies a pending login; false when it is not pending any more. */
    deny: (login: FoundLogin, now: Date, decision: Decision): Promise<boolean> =>
      denyOnce(database, login, now, decision),
  }
}
