import type { DeviceForm } from '../../../generated/openapi.ts'
import type { FindEmail } from '../../directory/memberships.ts'
import { isForm } from '../../http/body.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { actorOf, asExpress, callerOf, wantsPage } from '../../http/request.ts'
import type { CodeDecision, UserCodes } from './codes.ts'
import type { AnswerDeviceForm } from './forms.ts'
import type { RenderDevicePage } from './render.ts'

type Needs = {
  readonly codes: UserCodes
  readonly answerDeviceForm: AnswerDeviceForm
  readonly renderDevicePage: RenderDevicePage
  readonly findEmail: FindEmail
}

type Operations = 'getDeviceStatus' | 'approveDevice'

/** The page of the caller's devices, passkeys and API keys, with its forms. */
export function makeDevicePageHandlers(needs: Needs): Handlers<Operations> {
  const { codes, answerDeviceForm, renderDevicePage, findEmail } = needs
  return {
    async getDeviceStatus(req, res) {
      if (wantsPage(req)) {
        const { userCode, page: next } = req.query
        return sendPage(res, 200, await renderDevicePage(req, { userCode, page: next }))
      }
      const { accountId, organization, team, role } = callerOf(req)
      const email = await findEmail(accountId)
      res.status(200).json({ authenticated: true, user: { email, organization, team, role } })
    },

    async approveDevice(req, res) {
      // The contract has a body for each of the two content types, and has checked it; the handler's type is the JSON
      // one.
      if (isForm(req)) {
        const form = req.body as unknown as DeviceForm
        return answerDeviceForm(...asExpress(req, res), form)
      }
      const wanted = req.body.action === 'deny' ? 'denied' : 'approved'
      const decided = await codes.decide(actorOf(req), req.body.userCode, wanted)
      if (!('login' in decided)) throw toRefusal(decided)
      const { verdict, login } = decided
      if (verdict !== wanted) throw new ApiError('conflict', { message: `This login was ${verdict} before.` })
      res.status(200).json({ approved: verdict === 'approved', user: { email: login.email, team: login.team } })
    },
  }
}

function toRefusal(decided: Exclude<CodeDecision, { login: unknown }>): ApiError {
  if (decided.verdict === 'too_many') return new ApiError('rate_limited', { retryAfterSeconds: decided.waitSeconds })
  if (decided.verdict === 'expired') return new ApiError('expired')
  return new ApiError('not_found', { message: 'No login of your account waits with this user code.' })
}
