import type { ApprovalMode } from '../../config/values.ts'
import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { actionButton } from './buttons.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { noticeBar, otherSignIn, tokenField } from './parts.ts'
import { DECISION, loginFacts, warning } from './pending-login.ts'
import type { PendingLogin } from './pending-login.ts'

export type ConfirmPage = {
  /** The token of the link. It travels in the form's body, never in an address. */
  readonly token: Secret
  readonly email: string
  /** `@organization/name` */
  readonly team: string
  readonly login: PendingLogin
  readonly mode: ApprovalMode
  /** Whether another account is signed in to this browser. Approving ends that sign-in. */
  readonly replacesOther?: boolean
  /** Mode `code`: the code that the person just typed is not the login's. The link still works. */
  readonly wrongCode?: boolean
}

/**
 * The page behind the emailed link: which device wants to sign in, and the buttons Approve and Deny of equal
 * prominence. Opening it decides nothing. In mode `code` it does not show the user code but asks for it, and Deny needs
 * a tick, so that an email scanner which opens the link and presses every button changes nothing.
 */
export function confirmPage(data: ConfirmPage): Html {
  return page(
    { title: data.wrongCode ? 'Code does not match' : 'Approve a sign-in' },
    html`<h1>Approve this sign-in?</h1>
      <p class="lead">
        A device wants to sign in as <strong class="name">${data.email}</strong> in
        <span class="name">${data.team}</span>.
      </p>
      ${data.replacesOther && otherSignIn('approve')} ${decisionForm(data)}`,
  )
}

/** The login, the warning and the two buttons, for every page that has a token which can approve. */
export function decisionForm({
  token,
  login,
  mode,
  wrongCode,
}: Pick<ConfirmPage, 'token' | 'login' | 'mode' | 'wrongCode'>): Html {
  return html`${wrongCode && noticeBar(400, WRONG_CODE)} ${loginFacts(login, mode)} ${warning(mode)}
  ${mode === 'click' ? clickForm(token) : codeForms(token)}`
}

const WRONG_CODE =
  'That code does not match. Nothing was approved. Type the code that your device shows now. If your device shows no ' +
  'code, or you did not start a sign-in, press Deny.'

function clickForm(token: Secret): Html {
  return html`<form method="post" action="${PATHS.consume}">${tokenField(token)} ${DECISION}</form>`
}

// The checkbox has no name, so it is not sent: it only blocks the button in the browser. The service denies without it.
function codeForms(token: Secret): Html {
  return html`<div class="choices">
    <form method="post" action="${PATHS.consume}" class="choice">
      ${tokenField(token)}
      <label for="user-code">Type the code from the device’s screen</label>
      ${codeInput()} ${actionButton('approve', html`${ICONS.check} Approve`)}
    </form>
    <form method="post" action="${PATHS.consume}" class="choice">
      ${tokenField(token)}
      <label class="tick"><input type="checkbox" required /> I did not start this sign-in</label>
      ${actionButton('deny', html`${ICONS.cross} Deny`)}
    </form>
  </div>`
}

/** The field for a user code. The service ignores case, spaces and dashes. Its label must be for the id `user-code`. */
export function codeInput(userCode = ''): Html {
  return html`<input
    class="code-input"
    id="user-code"
    name="userCode"
    value="${userCode}"
    placeholder="XXXX-XXXX"
    required
    maxlength="20"
    autocomplete="off"
    autocapitalize="characters"
    spellcheck="false"
  />`
}
