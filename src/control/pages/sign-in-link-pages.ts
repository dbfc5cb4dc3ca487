import type { ApprovalMode } from '../../config/values.ts'
import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { submitButton } from './buttons.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { answer, ipHint, noticeBar, otherSignIn, time, timeOfDay, tokenField } from './parts.ts'

/**
 * 200: a link was asked for. `isKnown`: the person is signed in, so the email is certainly sent. Otherwise the page is
 * the same for every address, invited or not.
 */
export function linkSentPage({ email, isKnown }: { readonly email: string; readonly isKnown: boolean }): Html {
  const address = html`<strong class="name">${email}</strong>`
  return page(
    { title: 'Check your email' },
    html`${answer('wait', 'mail', 'Check your email', [
        isKnown
          ? html`We sent a link to ${address}.`
          : html`If ${address} is invited, a link is on its way. It arrives within a minute.`,
        'Open the link in the browser that you want to sign in. It works once, for 10 minutes.',
      ])}
      <p class="hint">
        No email? Look in the spam folder, and check the address above. One address gets only a few emails in ten
        minutes.
      </p>
      <p class="more"><a class="button" href="${isKnown ? PATHS.device : PATHS.signIn}">Back</a></p>`,
  )
}

export type SignInLinkPage = {
  /** The token of the link. It travels in the form's body, never in an address. */
  readonly token: Secret
  readonly email: string
  /** `@organization/name` */
  readonly team: string
  /** The IP address that asked for the link. */
  readonly requestIp: string
  readonly requestedAt: Date
  readonly expiresAt: Date
  /** Whether this browser has the same IP address. */
  readonly sameIp: boolean
  /** `code`: the person types the email address, which a scanner that presses buttons does not do. */
  readonly mode: ApprovalMode
  /** Whether another account is signed in to this browser. Signing in ends that sign-in. */
  readonly replacesOther: boolean
  /** Mode `code`: the address that the person typed is not the account's. The link still works. */
  readonly wrongEmail: boolean
}

/** The page behind a sign-in link. Opening it changes nothing; its button signs this browser in. */
export function signInLinkPage(data: SignInLinkPage): Html {
  const { token, email, team, mode } = data
  return page(
    { title: data.wrongEmail ? 'Address does not match' : 'Sign in here' },
    html`<h1>Sign in here?</h1>
      <p class="lead">
        This browser will be signed in as <strong class="name">${email}</strong> in <span class="name">${team}</span>.
      </p>
      ${data.replacesOther && otherSignIn('sign in')} ${data.wrongEmail && noticeBar(400, WRONG_EMAIL)}
      ${requestFacts(data)}
      <form method="post" action="${PATHS.signInLink}" class="stack">
        ${tokenField(token)} ${mode === 'code' && EMAIL_FIELD} ${submitButton(html`${ICONS.check} Sign in`, 'primary')}
      </form>
      <p class="hint">
        If this is not your own browser, or you did not ask for this link, close this page. Nobody is signed in then.
      </p>`,
  )
}

const WRONG_EMAIL = 'This is not the address that the email was sent to. Nobody was signed in. Type it again.'

const EMAIL_FIELD = html`<label for="email">Type your email address</label>
  <input
    id="email"
    name="email"
    type="email"
    required
    maxlength="254"
    autocomplete="email"
    autocapitalize="none"
    spellcheck="false"
  />`

function requestFacts({ requestIp, requestedAt, expiresAt, sameIp }: SignInLinkPage): Html {
  return html`<div class="facts">
    <dl>
      <div>
        <dt>Place</dt>
        <dd><span class="ip">${requestIp}</span> <small>IP address${ipHint(sameIp)}</small></dd>
      </div>
      <div>
        <dt>Requested</dt>
        <dd>${time(requestedAt)} <small>good until ${timeOfDay(expiresAt)}</small></dd>
      </div>
    </dl>
  </div>`
}

/** 401 and 410: the link signs nobody in. */
export function refusedSignInLinkPage(refusal: 'used' | 'ended' | 'expired' | 'invalid'): Html {
  const { title, sentences, next } = REFUSALS[refusal]
  return page({ title }, html`${answer(refusal === 'expired' ? 'wait' : 'plain', 'mail', title, sentences)} ${next}`)
}

const NEW_LINK = html`<p class="more"><a class="button" href="${PATHS.signIn}">Request a new link</a></p>`
const TO_DEVICE_PAGE = html`<p class="more">
  <a class="button" href="${PATHS.device}">Your devices and keys</a>
  <a class="button" href="${PATHS.signIn}">Request a new link</a>
</p>`

type Refusal = { readonly title: string; readonly sentences: readonly string[]; readonly next: Interpolation }

const REFUSALS: Readonly<Record<'used' | 'ended' | 'expired' | 'invalid', Refusal>> = {
  used: {
    title: 'This link was used already',
    sentences: [
      'Each link works once. If it was you, this browser may be signed in already.',
      'If it was not you, sign out the browsers and devices that you do not know.',
    ],
    next: TO_DEVICE_PAGE,
  },
  ended: {
    title: 'This invitation has ended',
    sentences: ['Your invitation was withdrawn, so this link signs nobody in. Ask an admin of your team.'],
    next: null,
  },
  expired: {
    title: 'This link has expired',
    sentences: ['It signed nobody in. A link is good for ten minutes.'],
    next: NEW_LINK,
  },
  invalid: {
    title: 'This link is not valid',
    sentences: [
      'Part of it may be missing: email programs sometimes break long links. Copy the whole address from the email ' +
        'into the address bar.',
    ],
    next: NEW_LINK,
  },
}
