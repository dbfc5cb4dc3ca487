import type { Request, Response } from 'express'
import { ApiError } from '../../http/errors.ts'
import { sendOutcomePage } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { wantsPage } from '../../http/request.ts'
import {
  deniedTooLatePage,
  endedLoginPage,
  expiredLinkPage,
  invalidLinkPage,
  usedLinkPage,
} from '../pages/answer-pages.ts'
import type { LinkRefusal } from './consume.ts'
import { isDoubleClick } from './rules.ts'
import type { LinkedLogin } from './store.ts'

/**
 * Answers a link that decides nothing: with a page for browsers, by throwing the error of the contract for programs.
 */
export function refuseLink(
  req: Request,
  res: Response,
  { refusal, login }: { readonly refusal: LinkRefusal; readonly login: LinkedLogin | null },
  now: Date,
): void {
  const code = refusal === 'expired' ? 'expired' : 'unauthorized'
  if (!wantsPage(req)) throw new ApiError(code, { message: MESSAGES[refusal] })
  sendOutcomePage(res, code === 'expired' ? 410 : 401, PAGES[refusal](login, now))
}

const MESSAGES: Readonly<Record<LinkRefusal, string>> = {
  used: 'This link was used before. Start the login again on the device.',
  ended: 'This login has ended. Start it again on the device.',
  expired: 'This link has expired. Start the login again on the device.',
  approved: 'This login was approved before. Sign the device out instead.',
  invalid: 'This link is not valid, or you are not signed in to its account.',
}

const PAGES: Readonly<Record<LinkRefusal, (login: LinkedLogin | null, now: Date) => Html>> = {
  used: (login, now) => usedLinkPage({ justApproved: login !== null && isDoubleClick(login, now) }),
  ended: endedLoginPage,
  expired: expiredLinkPage,
  approved: deniedTooLatePage,
  invalid: invalidLinkPage,
}
