import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { callerOf, ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { plainUserCode } from '../../kernel/user-code.ts'
import type { Logger } from '../../log.ts'
import { judgeCode } from '../device-login/rules.ts'
import type { Decision, DeviceLoginStore, FoundLogin } from '../device-login/store.ts'

type Needs = {
  readonly logins: DeviceLoginStore
  readonly findEmail: (accountId: string) => Promise<string>
  readonly clock: Clock
  readonly log: Logger
}

export function deviceRoutes({ logins, findEmail, clock, log }: Needs): Handlers<'getDeviceStatus' | 'approveDevice'> {
  /** What the login is after somebody decided: this caller, or whoever was first. */
  async function decide(
    login: FoundLogin,
    wanted: 'approved' | 'denied',
    decision: Decision,
  ): Promise<FoundLogin['status']> {
    const now = clock.now()
    const won = await (wanted === 'approved'
      ? logins.approveByCode(login, now, decision)
      : logins.deny(login, now, decision))
    if (!won) return (await logins.find(login.id)).status
    log.info({ loginId: login.id, via: decision.via }, `device_login.${wanted}`)
    return wanted
  }

  return {
    async getDeviceStatus(req, res) {
      const { accountId, organization, team, role } = callerOf(req)
      const email = await findEmail(accountId)
      res.set('Cache-Control', 'no-store')
      res.status(200).json({ authenticated: true, user: { email, organization, team, role } })
    },

    async approveDevice(req, res) {
      const caller = callerOf(req)
      const login = await logins.findByUserCode(plainUserCode(req.body.userCode), caller.accountId)
      const verdict = login ? judgeCode(login, clock.now()) : 'not_found'
      if (!login || verdict === 'not_found')
        throw new ApiError('not_found', { message: 'No login of yours waits with this code.' })
      if (verdict === 'expired') throw new ApiError('expired')

      const wanted = req.body.action === 'deny' ? 'denied' : 'approved'
      const decision = { via: 'user_code', sessionId: caller.sessionId, ip: ipOf(req) } as const
      const status = verdict === 'open' ? await decide(login, wanted, decision) : verdict
      if (status !== wanted) throw new ApiError('conflict', { message: `This login was ${status} already.` })
      res.status(200).json({ approved: status === 'approved', user: { email: login.email, team: login.team } })
    },
  }
}
