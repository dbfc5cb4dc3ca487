import type { Request, Response } from 'express'
import type { WriteErrorPage } from '../../http/error-handler.ts'
import { ERRORS } from '../../http/errors.ts'
import type { ApiError } from '../../http/errors.ts'
import { sendPage } from '../../http/page.ts'
import { wantsPage } from '../../http/request.ts'
import { toOAuthProblem } from '../oauth/rules.ts'
import { errorPage } from '../pages/error-page.ts'
import { PATHS } from '../pages/forms.ts'
import { deviceSignInPage, teamSignInPage } from '../pages/sign-in-page.ts'

/** What a person opens in a browser, besides the pages of a team. Unknown routes have a page too. */
const PAGES: readonly string[] = [
  PATHS.device,
  PATHS.consume,
  PATHS.signIn,
  PATHS.signInLink,
  PATHS.signOut,
  PATHS.session,
  PATHS.team,
]

/** Whether the service can send email, which the page for signing in says. */
type Given = { readonly hasEmail: boolean }

/** Writes the errors that do not have the JSON envelope: pages for browsers, and OAuth errors under `/oauth`. */
export function makeWriteControlError({ hasEmail }: Given): WriteErrorPage {
  return (req, res, error) => {
    const path = req.path.replace(/\/$/, '')
    if (path.startsWith('/oauth/')) return writeOAuthError(req, res, error)
    const isUnknownRoute = error.code === 'not_found' && !req.operation
    const isPage = PAGES.includes(path) || path.startsWith(`${PATHS.team}/`)
    if (!wantsPage(req) || !(isPage || isUnknownRoute)) return false
    if (error.code === 'authenticate_first') sendSignIn(req, res, hasEmail)
    else {
      const { status } = ERRORS[error.code]
      const { retryAfterSeconds } = error
      const reason = error.code === 'forbidden' ? error.message : undefined
      sendPage(res, status, errorPage({ status, reason, requestId: req.id, retryAfterSeconds }))
    }
    return true
  }
}

/** A longer user code in the address is not repeated on the page. */
const MAX_SHOWN_CODE = 32

/** The sign-in form takes no longer path. */
const MAX_TEAM_PATH = 256

/** The page of a person who is not signed in: signing in leads back to the page that was asked for. */
function sendSignIn(req: Request, res: Response, hasEmail: boolean): void {
  const isForm = req.method === 'POST'
  if (req.path.startsWith(PATHS.team)) {
    const query = /\?.*/.exec(req.url)?.[0] ?? ''
    const path = [req.path + query, req.path].find(({ length }) => length <= MAX_TEAM_PATH) ?? PATHS.team
    return sendPage(res, 401, teamSignInPage({ path, hasEmail, isForm }))
  }
  const { userCode } = req.query
  const shown = typeof userCode === 'string' && userCode.length <= MAX_SHOWN_CODE ? userCode : null
  sendPage(res, 401, deviceSignInPage({ userCode: shown, hasEmail, isForm }))
}

/** Writes the errors under `/oauth`, for a gateway that forwards these routes and has no pages. */
export const writeForwardedError: WriteErrorPage = (req, res, error) =>
  req.path.startsWith('/oauth/') && writeOAuthError(req, res, error)

function writeOAuthError(req: Request, res: Response, error: ApiError): true {
  // The body of a request that was refused early is not parsed, or is not the contract's.
  const form = (req.body ?? {}) as { grant_type?: unknown }
  const grantType = typeof form.grant_type === 'string' ? form.grant_type : undefined
  const problem = toOAuthProblem(error.code, ERRORS[error.code].status, grantType)
  // OAuth clients would read the challenge as a refusal of the client's own credentials.
  res.removeHeader('WWW-Authenticate')
  res.status(problem.status).json({ error: problem.error, error_description: error.message })
  return true
}
