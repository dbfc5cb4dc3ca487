import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { actionButton } from './buttons.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { answer, deviceNamed, otherSignIn, tokenField } from './parts.ts'

/** 200: the login is approved. */
export function approvedPage({ deviceName }: { readonly deviceName: string }): Html {
  return page(
    { title: 'Approved' },
    html`${answer('good', 'check', 'Approved', [
      html`${deviceNamed(deviceName)} may sign in. Go back to it: your device finishes signing in within seconds.`,
      'This browser is signed in too. You can close this page.',
    ])}
    ${TO_DEVICES}`,
  )
}

export type ApprovedBeforePage = {
  readonly deviceName: string
  /**
   * The token of the link where this browser is not signed in and the link can still do it, so that a person who did
   * not approve the device can sign it out. `replacesOther`: another account is signed in, which that ends.
   */
  readonly signIn: { readonly token: Secret; readonly replacesOther: boolean } | null
}

/** 200: the device was approved in another way, so there is nothing left to decide and no code to compare. */
export function approvedBeforePage({ deviceName, signIn }: ApprovedBeforePage): Html {
  return page(
    { title: 'Already approved' },
    html`${answer('good', 'check', 'Already approved', [
      html`${deviceNamed(deviceName)} was approved in another way. There is nothing left to do here.`,
      `If that was not you, ${signIn ? 'sign in here, then' : 'now'} look at your devices and sign out those ` +
        'that you do not know.',
    ])}
    ${signIn ? [signIn.replacesOther && otherSignIn('sign in'), signInForm(signIn.token)] : TO_DEVICES}`,
  )
}

function signInForm(token: Secret): Html {
  return html`<form method="post" action="${PATHS.consume}" class="more">
    ${tokenField(token)} ${actionButton('approve', 'Sign in here')}
  </form>`
}

/** 200: the login is denied. */
export function deniedPage({ deviceName }: { readonly deviceName: string }): Html {
  return page(
    { title: 'Denied' },
    answer('plain', 'cross', 'Denied', [
      html`${deviceNamed(deviceName)} was not signed in, and this link no longer works.`,
      'If you did not start it, somebody else typed your email address. They got no access. If it happens again, ' +
        'tell the person who runs this service.',
    ]),
  )
}

/** 401: the link was used before. `justApproved`: it approved within the last minute (a double click or a reload). */
export function usedLinkPage({ justApproved }: { readonly justApproved: boolean }): Html {
  return justApproved ? alreadyDonePage() : usedPage()
}

function alreadyDonePage(): Html {
  return page(
    { title: 'Already approved' },
    html`${answer('good', 'check', 'Already approved', [
      'This link approved the sign-in a moment ago. Your device finishes signing in within seconds.',
      'If that was not you, or a mistake, look at your devices and sign it out.',
    ])}
    ${TO_DEVICES}`,
  )
}

/** 401: the login is denied after its approval. */
export function deniedTooLatePage(): Html {
  return page(
    { title: 'Not denied' },
    html`${answer('bad', 'alert', 'Not denied: approved before', [
      'This sign-in was approved before, here or in another way, so it can no longer be denied.',
      'If that was not you, or a mistake, look at your devices and sign it out.',
    ])}
    ${TO_DEVICES}`,
  )
}

function usedPage(): Html {
  return page(
    { title: 'Link already used' },
    html`${answer('plain', 'mail', 'This link was used already', [
      'Each link works once. If your device is still waiting, start the sign-in there again, ' +
        'and open the link in the new email.',
      'If it was not you who used it, look at your devices and sign out those that you do not know.',
    ])}
    ${TO_DEVICES}`,
  )
}

/** 410: the login expired before a decision. */
export function expiredLinkPage(): Html {
  return page(
    { title: 'Link expired' },
    answer('wait', 'clock', 'This link has expired', [
      'It signed nobody in. A link is good for a few minutes only.',
      'If your device is still waiting, start the sign-in there again, and open the link in the new email.',
    ]),
  )
}

/** 401: the login was denied or cancelled before. */
export function endedLoginPage(): Html {
  return page(
    { title: 'Sign-in ended' },
    answer('plain', 'cross', 'Sign-in ended', [
      'It was denied, or a newer one took its place. This link signed nobody in.',
      'If you want to sign in, start again on your device and open the link in the new email.',
    ]),
  )
}

/** 401: the token belongs to no login. */
export function invalidLinkPage(): Html {
  return page(
    { title: 'Link not valid' },
    answer('bad', 'alert', 'This link is not valid', [
      'Part of it may be missing: email programs sometimes break long links. ' +
        'Copy the whole address from the email into the address bar.',
      'If that does not help, start the sign-in on your device again, and open the link in the new email.',
    ]),
  )
}

/** 200: signed out, here or everywhere. */
export function signedOutPage({ everywhere }: { readonly everywhere: boolean }): Html {
  return page(
    { title: 'Signed out' },
    html`${answer('good', 'check', everywhere ? 'Signed out everywhere' : 'Signed out', [
        everywhere
          ? 'Every device and every browser of your account is signed out. ' +
            'Start a sign-in on a device when you need it again.'
          : 'This browser is signed out. Your devices stay signed in.',
      ])}
      <p class="more"><a class="button" href="${PATHS.signIn}">Sign in again</a></p>`,
  )
}

/** The link to the page that shows what is signed in. */
export const TO_DEVICES = html`<p class="more">
  <a class="button" href="${PATHS.device}">Your devices and keys</a>
</p>`
