import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { submitButton } from './buttons.ts'
import { page } from './document.ts'
import { mistakenField, mistakeText } from './field-mistake.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { noticeBar } from './parts.ts'
import { passkeyButton } from './passkey-parts.ts'

export type SignInPage = {
  /** The code that the person came to approve; the next page gets it. */
  readonly userCode: string | null
  /** Whether the service can send email. */
  readonly hasEmail: boolean
} & Refused

/** The address that the email form was refused for, which stays filled in. */
type Refused = { readonly refused?: string }

/** The page that answers a request without a session. */
export type SessionMissing = {
  /** Whether the request was a form, which then changed nothing. */
  readonly isForm: boolean
}

/**
 * The page that signs a browser in: with a link by email, which needs no script, or with a passkey. The browser also
 * offers passkeys in the email field (conditional mediation of WebAuthn).
 */
export function signInPage(data: SignInPage): Html {
  return page(
    { title: 'Sign in', script: PATHS.passkeyScript },
    html`<h1>Sign in</h1>
      <p class="lead">
        There is no password. If you are signed in already, open
        <a href="${toDevice(data.userCode)}">your devices and keys</a>.
      </p>
      ${optionsForDevice(data)}`,
  )
}

/** `/device` without a session. */
export function deviceSignInPage(data: SignInPage & SessionMissing): Html {
  return page(
    { title: 'Sign in', script: PATHS.passkeyScript },
    html`<h1>Sign in to see your devices</h1>
      <p class="lead">
        ${
          data.userCode
            ? 'Then you can approve the code of your device.'
            : 'Then you can approve a new device, sign out old ones and manage your passkeys.'
        }
      </p>
      ${data.isForm && FORM_REFUSED} ${optionsForDevice(data)}`,
  )
}

type TeamSignInPage = SessionMissing & Refused & { readonly path: string; readonly hasEmail: boolean }

/** A page of a team without a session. `path`: the page, which the sign-in leads back to. */
export function teamSignInPage({ path, isForm, ...options }: TeamSignInPage): Html {
  return page(
    { title: 'Sign in', script: PATHS.passkeyScript },
    html`<h1>Sign in to see your team</h1>
      <p class="lead">Then you can see what your team uses, and admins can manage it.</p>
      ${isForm && FORM_REFUSED} ${signInOptions({ ...options, next: path, wanted: { name: 'page', value: path } })}`,
  )
}

const FORM_REFUSED = noticeBar(401, 'Your sign-in has ended, so nothing was changed. Sign in, then repeat it.')

/** How a person signs in: by email or with a passkey. */
type SignInOptions = Refused & {
  /** The path of the page that follows. */
  readonly next: string
  /** The field of the email form that says so; null for a sign-in that leads to the device page. */
  readonly wanted: { readonly name: 'userCode' | 'page'; readonly value: string } | null
  readonly hasEmail: boolean
}

/** For a sign-in that leads to the device page, with the code that the person may have come to approve. */
function optionsForDevice({ userCode, ...options }: SignInPage): Interpolation {
  return signInOptions({
    ...options,
    next: toDevice(userCode),
    wanted: userCode ? { name: 'userCode', value: userCode } : null,
  })
}

function signInOptions({ next, wanted, hasEmail, refused }: SignInOptions): Interpolation {
  return html`${hasEmail && [emailForm(next, wanted, refused), html`<div class="or"><span>or</span></div>`]}
    ${passkeyButton({ then: next, look: hasEmail ? '' : 'primary' })}
    <p class="hint">Only people who are invited can sign in. To be invited, ask an admin of your team.</p>`
}

function emailForm(next: string, wanted: SignInOptions['wanted'], refused: string | undefined): Html {
  const mistake = refused === undefined ? undefined : 'That is not one email address. No email was sent.'
  return html`<form method="post" action="${PATHS.signIn}" class="stack" data-passkey="offer" data-then="${next}">
    <label for="email">Email address</label>
    ${mistakeText('email', mistake)}
    <input
      id="email"
      name="email"
      type="email"
      value="${refused}"
      required
      minlength="3"
      maxlength="254"
      autocomplete="username webauthn"
      autocapitalize="none"
      spellcheck="false"
      ${mistakenField('email', mistake)}
    />
    ${wanted && html`<input type="hidden" name="${wanted.name}" value="${wanted.value}" />`}
    ${submitButton(html`${ICONS.mail} Email me a sign-in link`, 'primary')}
    <p class="status" role="status" data-passkey-status></p>
  </form>`
}

/** The path of the device page with a code filled in. */
export function toDevice(userCode: string | null): string {
  return userCode ? `${PATHS.device}?userCode=${encodeURIComponent(userCode)}` : PATHS.device
}
