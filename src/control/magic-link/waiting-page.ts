import type { ApprovalMode } from '../../config/values.ts'
import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { decisionForm } from '../pages/confirm-page.ts'
import { page } from '../pages/document.ts'
import { PATHS } from '../pages/forms.ts'
import { answer } from '../pages/parts.ts'
import { passkeyButton } from '../pages/passkey-parts.ts'
import type { PendingLogin } from '../pages/pending-login.ts'

export type WaitingPage = {
  /** Null unless the caller is signed in to the account of the login: only that caller may decide here. */
  readonly decide: {
    readonly token: Secret
    readonly email: string
    readonly login: PendingLogin
    readonly mode: ApprovalMode
    readonly wrongCode?: boolean
  } | null
}

/**
 * The page of `verificationUri`, which opens on the device that wants to sign in. A caller who is not signed in to the
 * account learns only that an email was sent, not to whom and not whether it arrived.
 */
export function waitingPage({ decide }: WaitingPage): Html {
  return page({ title: 'Waiting for you', script: PATHS.passkeyScript }, decide ? decision(decide) : WAITING)
}

function decision(decide: NonNullable<WaitingPage['decide']>): Interpolation {
  return html`<h1>Approve this sign-in?</h1>
    <p class="lead">You are signed in here as <strong class="name">${decide.email}</strong>, so you can decide here.</p>
    ${decisionForm(decide)}`
}

const WAITING = html`${answer('wait', 'mail', 'We sent you an email', [
    'Open the link in it, and compare the code there with the one on your device. ' +
      'The device continues by itself once you approve.',
  ])}
  <div class="or"><span>or</span></div>
  ${passkeyButton({ then: null })}
  <p class="hint">
    No email after a minute? Look in the spam folder, then start the sign-in again on your device. If you did not start
    one, close this page.
  </p>`
