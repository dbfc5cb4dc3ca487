import type { Request, Response } from 'express'
import { ApiError } from '../../http/errors.ts'
import { sendOutcomePage, sendPage } from '../../http/page.ts'
import { wantsPage } from '../../http/request.ts'
import { refusedSignInLinkPage } from '../pages/sign-in-link-pages.ts'
import { signInPage, teamSignInPage } from '../pages/sign-in-page.ts'
import { invalidEmail } from '../request-fields.ts'
import { nextOf } from './next.ts'
import type { Wanted } from './next.ts'
import type { SignInLinkVerdict } from './rules.ts'

/** Why a link signs nobody in. `invalid`: the token belongs to no link. */
export type SignInLinkRefusal = Exclude<SignInLinkVerdict, 'open'> | 'invalid'

/** Answers a link that signs nobody in: with a page for browsers, by throwing the contract's error for programs. */
export function refuseSignInLink(req: Request, res: Response, refusal: SignInLinkRefusal): void {
  const code = refusal === 'expired' ? 'expired' : 'unauthorized'
  if (!wantsPage(req)) throw new ApiError(code, { message: MESSAGES[refusal] })
  sendOutcomePage(res, code === 'expired' ? 410 : 401, refusedSignInLinkPage(refusal))
}

const MESSAGES: Readonly<Record<SignInLinkRefusal, string>> = {
  used: 'This link was used before. Request a new one on the sign-in page.',
  ended: 'The invitation of this account was withdrawn. Ask an admin of your team.',
  expired: 'This link has expired. Request a new one on the sign-in page.',
  invalid: 'This link is not valid. Copy the whole address from the email, or request a new one.',
}

type RefusedForm = {
  readonly form: Wanted & { readonly email: string }
  /** Whether the service can send email. */
  readonly hasEmail: boolean
}

/**
 * Answers a form whose email address is not valid. For browsers, shows the form again, which still leads to the page
 * that the person came for. For programs, throws the contract's error.
 */
export function refuseEmail(req: Pick<Request, 'headers'>, res: Response, { form, hasEmail }: RefusedForm): void {
  if (!wantsPage(req)) throw invalidEmail()
  const { email: refused, userCode, ...wanted } = form
  const path = nextOf(wanted)
  const page = path
    ? teamSignInPage({ path, hasEmail, isForm: false, refused })
    : signInPage({ userCode: userCode ?? null, hasEmail, refused })
  sendPage(res, 400, page)
}
