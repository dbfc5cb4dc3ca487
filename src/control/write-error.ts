import type { Request, Response } from 'express'
import type { WriteErrorPage } from '../http/error-handler.ts'
import { ERRORS } from '../http/errors.ts'
import type { ApiError } from '../http/errors.ts'
import { sendPage } from '../http/page.ts'
import { wantsPage } from '../http/request.ts'
import { toOAuthProblem } from './oauth/rules.ts'
import { deviceSignInPage } from './pages/device-page.ts'
import { errorPage } from './pages/error-page.ts'

/** The routes that a person opens in a browser. */
const PAGES = ['/device', '/v1/auth/magic/consume', '/sign-in', '/session']

/** Writes errors where the envelope is not what the caller reads: pages for people, and the form of the standards under /oauth. */
export const writeControlError: WriteErrorPage = (req, res, error) => {
  const path = req.path.replace(/\/$/, '')
  if (path.startsWith('/oauth/')) return writeOAuthError(req, res, error)
  if (!wantsPage(req) || !PAGES.includes(path)) return false
  if (error.code === 'authenticate_first') sendSignIn(req, res)
  else {
    const { status } = ERRORS[error.code]
    const { retryAfterSeconds } = error
    sendPage(res, status, errorPage({ status, requestId: req.id, retryAfterSeconds }))
  }
  return true
}

/** The device page of somebody who is not signed in. */
function sendSignIn(req: Request, res: Response): void {
  const { userCode } = req.query
  const plain = typeof userCode === 'string' && userCode.length <= 32 ? userCode : null
  sendPage(res, 401, deviceSignInPage({ userCode: plain }), { scripts: true })
}

function writeOAuthError(req: Request, res: Response, error: ApiError): true {
  // A body that could not be read has no grant type.
  const form = (req.body ?? {}) as { grant_type?: unknown }
  const grantType = typeof form.grant_type === 'string' ? form.grant_type : undefined
  const problem = toOAuthProblem(error.code, ERRORS[error.code].status, grantType)
  // Clients take a challenge for an answer about their own credentials.
  res.removeHeader('WWW-Authenticate')
  res.status(problem.status).json({ error: problem.error, error_description: error.message })
  return true
}
