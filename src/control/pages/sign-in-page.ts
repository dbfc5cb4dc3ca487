import { html, type Html } from '../../http/page.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { PASSKEY_MISSING, PASSKEY_STATUS } from './passkey-parts.ts'

/**
 * The page that signs in with a passkey: from the list that the browser offers in the email field (conditional
 * mediation of WebAuthn), or by the button, with or without an address. Needs `scripts: true`; without JavaScript it
 * says what else works. `userCode` is the code that the person was about to approve; the next page gets it.
 */
export function signInPage({ userCode = null }: { readonly userCode?: string | null } = {}): Html {
  return page(
    { title: 'Sign in', scripts: true },
    html`<h1>Sign in</h1>
      <p class="lead">With a passkey: your fingerprint, face or screen lock. There is no password.</p>
      <form
        class="stack"
        data-passkey="sign-in-form"
        data-then="${toDevice(userCode)}"
        data-passkey-when="supported"
        hidden
      >
        <label for="email">Email address <small>optional</small></label>
        <input
          id="email"
          name="email"
          type="email"
          maxlength="254"
          autocomplete="username webauthn"
          autocapitalize="none"
          spellcheck="false"
        />
        <button class="button primary">${ICONS.key} Sign in with a passkey</button>
        ${PASSKEY_STATUS}
      </form>
      ${PASSKEY_MISSING}
      <section class="aside">
        <h2>No passkey yet?</h2>
        <p>
          Start a sign-in on your device, for example with <code>svc login</code>, and open the link in the email that
          we send you. It signs in this browser too, and then you can add a passkey.
        </p>
      </section>`,
  )
}

/** The path of the device page with a code filled in. */
export function toDevice(userCode: string | null): string {
  return userCode ? `${PATHS.device}?userCode=${encodeURIComponent(userCode)}` : PATHS.device
}
