import type { Request } from 'express'
import type { ApprovalMode } from '../../config/values.ts'
import type { Html } from '../../http/page.ts'
import { ipOf } from '../../http/request.ts'
import type { Secret } from '../../kernel/secret.ts'
import { approvedBeforePage } from '../pages/answer-pages.ts'
import { confirmPage } from '../pages/confirm-page.ts'
import { toPendingLogin } from '../pages/pending-login.ts'
import type { LinkedLogin } from './store.ts'
import { waitingPage } from './waiting-page.ts'

type View = {
  readonly approvalMode: ApprovalMode
  /** The code that the person just typed is not the login's. */
  readonly wrongCode?: boolean
}

/** The page of an open link: it asks for the decision where the caller may decide, and says to wait otherwise. */
export function toLinkPage(req: Request, login: LinkedLogin, token: Secret, view: View): Html {
  const { approvalMode: mode, wrongCode = false } = view
  const decide = { token, email: login.email, login: toPendingLogin(login, ipOf(req)), mode, wrongCode }
  const isSignedIn = req.caller?.accountId === login.accountId
  const replacesOther = req.caller !== undefined && !isSignedIn
  const mayDecide = login.link === 'mail' || isSignedIn
  if (mayDecide && login.status === 'approved') {
    // Nothing is left to decide, and the code is gone. The email's link still signs its reader in, unless they are
    // signed in here already, or that needs the code.
    const canSignIn = login.link === 'mail' && mode === 'click' && !isSignedIn
    const signIn = canSignIn ? { token, replacesOther } : null
    return approvedBeforePage({ deviceName: login.deviceName, signIn })
  }
  return login.link === 'mail'
    ? confirmPage({ ...decide, team: login.team, replacesOther })
    : waitingPage({ decide: mayDecide ? decide : null })
}
