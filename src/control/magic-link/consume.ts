import type { Request } from 'express'
import type { ApprovalMode } from '../../config/values.ts'
import { isForm } from '../../http/body.ts'
import { ipOf } from '../../http/request.ts'
import type { Clock } from '../../kernel/clock.ts'
import { hashSecret, Secret } from '../../kernel/secret.ts'
import type { Logger } from '../../log.ts'
import { beginBrowserSession } from '../browser-session/begin.ts'
import type { Decision } from '../device-login/decide.ts'
import { plainUserCode } from '../device-login/user-code.ts'
import type { OnUnknownCredential } from '../edge/unknown-credentials.ts'
import { judgeLink } from './rules.ts'
import type { LinkVerdict } from './rules.ts'
import type { LinkedLogin, MagicLinkStore } from './store.ts'

/**
 * Why a link decides nothing. `invalid`: there is no such link, or the caller is not signed in to its account.
 * `approved`: the login is denied too late.
 */
export type LinkRefusal = Exclude<LinkVerdict, 'open'> | 'invalid' | 'approved'

/** What a link did. */
export type ConsumedLink =
  | { readonly outcome: 'approved'; readonly login: LinkedLogin; readonly cookie: Secret | null }
  | { readonly outcome: 'denied'; readonly login: LinkedLogin }
  | { readonly outcome: 'refused'; readonly refusal: LinkRefusal; readonly login: LinkedLogin | null }
  /** The approval mode is `code`, and the typed code is not the login's. The link stays open. */
  | { readonly outcome: 'wrong_code'; readonly login: LinkedLogin }

/** What the form of the page says, or the JSON body. */
export type LinkForm = {
  readonly token: string
  readonly action?: 'approve' | 'deny'
  readonly userCode?: string
}

/** Approves or denies a login by one of its links; `cookie` is the session cookie of a browser that this signed in. */
export type ConsumeLink = (req: Request, form: LinkForm) => Promise<ConsumedLink>

type Needs = {
  readonly links: MagicLinkStore
  readonly approvalMode: ApprovalMode
  readonly onUnknownCredential: OnUnknownCredential
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the function that the API and the page of a link share. */
export function makeConsumeLink({ links, approvalMode, onUnknownCredential, clock, log }: Needs): ConsumeLink {
  async function approve(req: Request, login: LinkedLogin, decision: Decision): Promise<ConsumedLink | null> {
    const now = clock.now()
    // The link of the email also signs its browser in, with a new session that replaces the one of the same browser.
    // The caller of the other link is signed in already.
    const begun = login.link === 'mail' ? beginBrowserSession(req, login.invitationId, now) : null
    const isApproved = await links.approve(login, now, decision, begun?.browser ?? null)
    return isApproved ? { outcome: 'approved', login, cookie: begun?.cookie ?? null } : null
  }

  async function deny(login: LinkedLogin, decision: Decision): Promise<ConsumedLink | null> {
    return (await links.deny(login, clock.now(), decision)) ? { outcome: 'denied', login } : null
  }

  function isCodeWrong(req: Request, form: LinkForm, login: LinkedLogin): boolean {
    // Programs that POST JSON have read the email; the mode is against link scanners, which send the forms of pages.
    return approvalMode === 'code' && isForm(req) && plainUserCode(form.userCode ?? '') !== login.userCode
  }

  return async (req, form) => {
    const hash = hashSecret(new Secret(form.token))
    const login = await links.findByLink(hash)
    if (!login) {
      onUnknownCredential(ipOf(req))
      return { outcome: 'refused', refusal: 'invalid', login: null }
    }
    const verdict = judgeLink(login, clock.now())
    if (verdict !== 'open') return refuse(verdict, login, form)
    const decision = decisionOf(req, login)
    if (!decision) return { outcome: 'refused', refusal: 'invalid', login: null }

    const approves = form.action !== 'deny'
    if (approves && isCodeWrong(req, form, login)) return { outcome: 'wrong_code', login }
    const decided = approves ? await approve(req, login, decision) : await deny(login, decision)
    // Another request was faster.
    if (!decided) return refuse('used', await links.findByLink(hash), form)
    log.info({ loginId: login.id, via: decision.via }, `device_login.${decided.outcome}`)
    return decided
  }
}

/** A person who denies must not read that all went well when the login was approved before. */
function refuse(refusal: LinkRefusal, login: LinkedLogin | null, { action }: LinkForm): ConsumedLink {
  const isTooLate = action === 'deny' && login?.status === 'approved'
  return { outcome: 'refused', refusal: isTooLate ? 'approved' : refusal, login }
}

/**
 * Who decides. Null for a handle whose caller is not signed in to the login's account: everybody who starts a login has
 * the handle.
 */
function decisionOf(req: Request, login: LinkedLogin): Decision | null {
  if (login.link === 'mail') return { via: 'mail', by: null, ip: ipOf(req) }
  if (req.caller?.accountId !== login.accountId) return null
  return { via: 'session', by: req.caller, ip: ipOf(req) }
}
