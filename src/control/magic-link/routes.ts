import type { Request, Response } from 'express'
import { cookieOf, setCookie } from '../../http/cookies.ts'
import { ApiError } from '../../http/errors.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { ipOf, wantsPage } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import { plainUserCode, showUserCode } from '../../kernel/user-code.ts'
import type { Logger } from '../../log.ts'
import { beginBrowserSession } from '../browser-session/begin.ts'
import { COOKIE_SECONDS } from '../browser-session/rules.ts'
import { judgeLink } from '../device-login/rules.ts'
import type { LinkVerdict } from '../device-login/rules.ts'
import type { Decision, DeviceLoginStore, LinkedLogin } from '../device-login/store.ts'
import {
  approvedBeforePage,
  approvedPage,
  deniedPage,
  endedLoginPage,
  expiredLinkPage,
  invalidLinkPage,
  usedLinkPage,
  wrongCodePage,
} from '../pages/answer-pages.ts'
import { confirmPage } from '../pages/confirm-page.ts'
import { waitingPage } from '../pages/waiting-page.ts'

type Needs = {
  readonly logins: DeviceLoginStore
  readonly approvalMode: 'click' | 'code'
  readonly secure: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** Within this time after it was used, a link that approved is a double click and not an alarm. */
const DOUBLE_CLICK_MS = 60_000

export function magicLinkRoutes({
  logins,
  approvalMode,
  secure,
  clock,
  log,
}: Needs): Handlers<'showMagicLink' | 'consumeMagicLink'> {
  /** The refusal of a link, as a page or as the envelope. */
  function refuse(
    req: Request,
    res: Response,
    verdict: Exclude<LinkVerdict, 'open'> | 'invalid',
    login: LinkedLogin | null,
  ): void {
    const code = verdict === 'expired' ? 'expired' : 'unauthorized'
    if (!wantsPage(req)) throw new ApiError(code, { message: REFUSALS[verdict] })
    const justApproved =
      login?.status === 'approved' &&
      login.usedAt !== null &&
      clock.now().getTime() - login.usedAt.getTime() < DOUBLE_CLICK_MS
    const pages: Record<typeof verdict, () => Html> = {
      used: () => usedLinkPage({ justApproved }),
      ended: endedLoginPage,
      expired: expiredLinkPage,
      invalid: invalidLinkPage,
    }
    sendPage(res, code === 'expired' ? 410 : 401, pages[verdict]())
  }

  function pageOf(req: Request, login: LinkedLogin, token: Secret): Html {
    const pending = {
      deviceName: login.deviceName,
      userCode: showUserCode(login.userCode ?? ''),
      startIp: login.startIp,
      startedAt: login.createdAt,
      expiresAt: login.expiresAt,
      sameIp: login.startIp === ipOf(req),
    }
    const decide = { token, email: login.email, login: pending, mode: approvalMode }
    const mayDecide = login.link === 'mail' || req.caller?.accountId === login.accountId
    // Nothing is left to decide, and the code is gone. The mail's link still signs its reader in, unless that needs the code.
    if (mayDecide && login.status === 'approved') {
      const signIn = login.link === 'mail' && approvalMode === 'click' ? token : null
      return approvedBeforePage({ deviceName: login.deviceName, signIn })
    }
    return login.link === 'mail'
      ? confirmPage({ ...decide, team: login.team })
      : waitingPage({ decide: mayDecide ? decide : null })
  }

  /** Who decides. The link of the start response is known to whoever started: it counts only for somebody signed in to the account. */
  function decisionOf(req: Request, login: LinkedLogin): Decision | null {
    if (login.link === 'mail') return { via: 'mail', sessionId: null, ip: ipOf(req) }
    if (req.caller?.accountId !== login.accountId) return null
    return { via: 'session', sessionId: req.caller.sessionId, ip: ipOf(req) }
  }

  /** Approves, and with the mail's link signs the browser in. False when somebody else was first. */
  async function approve(req: Request, res: Response, login: LinkedLogin, decision: Decision): Promise<boolean> {
    const now = clock.now()
    if (login.link === 'handle') return logins.approveByLink(login, now, decision, null)
    const { cookie, session } = beginBrowserSession(req, login.invitationId, now)
    const old = cookieOf(req, 'svc_session')
    const replaces = old ? hashSecret(new Secret(old)) : null
    if (!(await logins.approveByLink(login, now, decision, { session, replaces }))) return false
    setCookie(res, 'svc_session', cookie, COOKIE_SECONDS, secure)
    return true
  }

  return {
    async showMagicLink(req, res) {
      const token = new Secret(req.query.token)
      const login = await logins.findByLink(hashSecret(token))
      const page = { req: req as Request, res: res as unknown as Response }
      if (!login) return refuse(page.req, page.res, 'invalid', null)
      const verdict = judgeLink(login, clock.now())
      if (verdict !== 'open') return refuse(page.req, page.res, verdict, login)
      sendPage(page.res, 200, pageOf(page.req, login, token), { scripts: login.link === 'handle' })
    },

    async consumeMagicLink(req, res) {
      const page = { req: req as Request, res: res as unknown as Response }
      const login = await logins.findByLink(hashSecret(new Secret(req.body.token)))
      if (!login) return refuse(page.req, page.res, 'invalid', null)
      const verdict = judgeLink(login, clock.now())
      if (verdict !== 'open') return refuse(page.req, page.res, verdict, login)
      const decision = decisionOf(page.req, login)
      if (!decision) return refuse(page.req, page.res, 'invalid', null)

      const approves = req.body.action !== 'deny'
      if (
        approves &&
        approvalMode === 'code' &&
        wantsPage(page.req) &&
        plainUserCode(req.body.userCode ?? '') !== login.userCode
      ) {
        return sendPage(page.res, 400, wrongCodePage())
      }
      const won = approves
        ? await approve(page.req, page.res, login, decision)
        : await logins.deny(login, clock.now(), decision)
      if (!won)
        return refuse(page.req, page.res, 'used', await logins.findByLink(hashSecret(new Secret(req.body.token))))
      log.info({ loginId: login.id, via: decision.via }, approves ? 'device_login.approved' : 'device_login.denied')

      res.set('Cache-Control', 'no-store')
      const { deviceId, deviceName, email, team } = login
      if (wantsPage(page.req))
        return sendPage(page.res, 200, approves ? approvedPage({ deviceName }) : deniedPage({ deviceName }))
      res.status(200).json({ approved: approves, user: { email, team }, device: { deviceId, deviceName } })
    },
  }
}

const REFUSALS = {
  used: 'This link was used before. Start the login again on the device.',
  ended: 'This login has ended. Start it again on the device.',
  expired: 'This link has expired. Start the login again on the device.',
  invalid: 'This link is not valid, or you are not signed in to its account.',
} as const
