import { html, type Html } from '../../http/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { type ApprovalMode, DECISION, loginSlip, type PendingLogin, tokenField, warning } from './parts.ts'

export type ConfirmPage = {
  /** The token of the link; it travels in the form's body, never in an address. */
  readonly token: Secret
  readonly email: string
  /** `@organization/name` */
  readonly team: string
  readonly login: PendingLogin
  readonly mode: ApprovalMode
}

/**
 * The page behind the mailed link: what asks to sign in, and Approve and Deny of equal weight. It decides nothing by itself.
 * In mode `code` it does not show the user code but has it typed, and Deny wants a tick, so that a mail scanner which opens the
 * link and presses every button changes nothing.
 */
export function confirmPage(data: ConfirmPage): Html {
  return page(
    { title: 'Approve a sign-in' },
    html`<h1>Approve this sign-in?</h1>
      <p class="lead">
        A device wants to sign in as <strong class="name">${data.email}</strong> in
        <span class="name">${data.team}</span>.
      </p>
      ${decisionForm(data)}`,
  )
}

/** The login, the warning and the two buttons, for any page that holds a token which may approve. */
export function decisionForm({ token, login, mode }: Pick<ConfirmPage, 'token' | 'login' | 'mode'>): Html {
  return html`${loginSlip(login, mode)} ${warning(mode)} ${mode === 'click' ? clickForm(token) : codeForms(token)}`
}

function clickForm(token: Secret): Html {
  return html`<form method="post" action="${PATHS.consume}">${tokenField(token)} ${DECISION}</form>`
}

// The box has no name: it only holds the button back, and the service asks for nothing more to deny.
function codeForms(token: Secret): Html {
  return html`<div class="choices">
    <form method="post" action="${PATHS.consume}" class="choice">
      ${tokenField(token)}
      <label for="user-code">Type the code from the device’s screen</label>
      ${codeInput()}
      <button class="button" name="action" value="approve">${ICONS.check} Approve</button>
    </form>
    <form method="post" action="${PATHS.consume}" class="choice">
      ${tokenField(token)}
      <label class="tick"><input type="checkbox" required /> I did not start this sign-in</label>
      <button class="button" name="action" value="deny">${ICONS.cross} Deny</button>
    </form>
  </div>`
}

/** Where a person types a user code; the service forgives case, spaces and dashes. Its label is for `user-code`. */
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
