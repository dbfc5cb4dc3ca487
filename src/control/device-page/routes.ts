import type { Request, Response } from 'express'
import type { DeviceForm } from '../../../generated/openapi.ts'
import { isForm } from '../../http/body.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { callerOf, ipOf, wantsPage } from '../../http/request.ts'
import type { DecideByCode, Decided } from './decide.ts'
import type { SendDeviceForm } from './forms.ts'
import type { DrawDevicePage } from './page.ts'

type Needs = {
  readonly codes: DecideByCode
  readonly sendDeviceForm: SendDeviceForm
  readonly drawDevicePage: DrawDevicePage
  readonly findEmail: (accountId: string) => Promise<string>
}

export function deviceRoutes(needs: Needs): Handlers<'getDeviceStatus' | 'approveDevice'> {
  const { codes, sendDeviceForm, drawDevicePage, findEmail } = needs
  return {
    async getDeviceStatus(req, res) {
      if (wantsPage(req)) {
        const page = await drawDevicePage(req as unknown as Request, { userCode: req.query.userCode })
        return sendPage(res as unknown as Response, 200, page, { scripts: true })
      }
      const { accountId, organization, team, role } = callerOf(req)
      const email = await findEmail(accountId)
      res.set('Cache-Control', 'no-store')
      res.status(200).json({ authenticated: true, user: { email, organization, team, role } })
    },

    async approveDevice(req, res) {
      // The contract has another body for each of the two content types, and has checked it.
      if (isForm(req))
        return sendDeviceForm(req as unknown as Request, res as unknown as Response, req.body as unknown as DeviceForm)
      const wanted = req.body.action === 'deny' ? 'denied' : 'approved'
      const decided = await codes.decide(callerOf(req), req.body.userCode, wanted, ipOf(req))
      if (!('login' in decided)) throw refusalOf(decided)
      const { status, login } = decided
      if (status !== wanted) throw new ApiError('conflict', { message: `This login was ${status} already.` })
      res.status(200).json({ approved: status === 'approved', user: { email: login.email, team: login.team } })
    },
  }
}

function refusalOf(decided: Exclude<Decided, { login: unknown }>): ApiError {
  if (decided.verdict === 'too_many') return new ApiError('rate_limited', { retryAfterSeconds: decided.waitSeconds })
  if (decided.verdict === 'expired') return new ApiError('expired')
  return new ApiError('not_found', { message: 'No login of yours waits with this code.' })
}
