import type { Request, Response } from 'express'
import type { ApprovalMode } from '../../config/values.ts'
import type { Handlers } from '../../http/operation.ts'
import { sendPage } from '../../http/page.ts'
import { asExpress, ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { toEmail } from '../../kernel/email.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import { beginBrowserSession, setSessionCookie } from '../browser-session/begin.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { linkSentPage, signInLinkPage } from '../pages/sign-in-link-pages.ts'
import { PATHS } from '../pages/forms.ts'
import { signInPage } from '../pages/sign-in-page.ts'
import { keepNext, takeNext } from './next.ts'
import { refuseEmail, refuseSignInLink } from './refuse.ts'
import type { SignInLinks } from './request.ts'
import { judgeSignInLink } from './rules.ts'
import type { SignInLink, SignInLinkStore } from './store.ts'

type Needs = {
  readonly links: SignInLinkStore
  readonly signInLinks: SignInLinks
  readonly approvalMode: ApprovalMode
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

/** The page of an open link. `wrongEmail`: the person has typed another address than the link is for. */
type ShownLink = { readonly link: SignInLink; readonly token: string; readonly wrongEmail?: boolean }

type Operations = 'showSignIn' | 'requestSignInLink' | 'showSignInLink' | 'consumeSignInLink'

/** The sign-in page, and the links that it sends. */
export function makeSignInLinkHandlers(needs: Needs): Handlers<Operations> {
  const { links, signInLinks, approvalMode, onUnknownCredential, clock, log } = needs

  /** The open link of a token; null when the request was answered with a refusal. */
  async function findOpen(req: Request, res: Response, token: string): Promise<SignInLink | null> {
    const link = await links.find(hashSecret(new Secret(token)))
    const verdict = link ? judgeSignInLink(link, clock.now()) : 'invalid'
    if (verdict === 'open') return link
    if (verdict === 'invalid') onUnknownCredential(ipOf(req))
    refuseSignInLink(req, res, verdict)
    return null
  }

  function showLink(req: Request, res: Response, shown: ShownLink): void {
    const { link, token, wrongEmail = false } = shown
    const { email, team, createdAt: requestedAt, ip: requestIp, expiresAt } = link
    const request = { requestedAt, requestIp, expiresAt, sameIp: requestIp === ipOf(req) }
    const replacesOther = req.caller !== undefined && req.caller.accountId !== link.accountId
    const view = { mode: approvalMode, replacesOther, wrongEmail }
    sendPage(
      res,
      wrongEmail ? 400 : 200,
      signInLinkPage({ token: new Secret(token), email, team, ...request, ...view }),
    )
  }

  /** A scanner that opens the link and presses its button does not type the address. */
  function isEmailWrong(link: SignInLink, typed: string | undefined): boolean {
    return approvalMode === 'code' && toEmail(typed ?? '') !== link.email
  }

  return {
    async showSignIn(req, res) {
      const page = signInPage({ userCode: req.query.userCode ?? null, hasEmail: signInLinks.hasEmail })
      sendPage(res, 200, page)
    },

    async requestSignInLink(req, response) {
      const [, res] = asExpress(req, response)
      const email = toEmail(req.body.email)
      if (!email) return refuseEmail(req, res, { form: req.body, hasEmail: signInLinks.hasEmail })
      await signInLinks.request(email, ipOf(req))
      keepNext(res, req.body)
      sendPage(res, 200, linkSentPage({ email, isKnown: false }))
    },

    async showSignInLink(request, response) {
      const [req, res] = asExpress(request, response)
      const { token } = request.query
      const link = await findOpen(req, res, token)
      if (link) showLink(req, res, { link, token })
    },

    async consumeSignInLink(request, response) {
      const [req, res] = asExpress(request, response)
      const { token, email } = request.body
      const link = await findOpen(req, res, token)
      if (!link) return
      if (isEmailWrong(link, email)) return showLink(req, res, { link, token, wrongEmail: true })
      const { cookie, browser } = beginBrowserSession(req, link.invitationId, clock.now())
      // False: another request was faster.
      if (!(await links.consume(link, browser))) return refuseSignInLink(req, res, 'used')
      log.info({ accountId: link.accountId }, 'sign_in_link.used')
      setSessionCookie(req, res, link.accountId, cookie)
      const location = takeNext(req, res) ?? PATHS.device
      res.set('Location', location).status(303).end()
    },
  }
}
