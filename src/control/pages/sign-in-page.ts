import { html, type Html } from '../../http/page.ts'
import { page } from './document.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { PASSKEY_MISSING, PASSKEY_STATUS } from './passkey-parts.ts'

/**
 * Sign in with a passkey: from the list that the browser offers in the address field (conditional mediation of WebAuthn), or by the
 * button, with or without an address. Needs `scripts: true`; without scripts it says what works without them.
 * `userCode`: what the person was about to approve, kept for the page that follows.
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
        <label for="email">E-mail address <small>optional</small></label>
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
          Start a sign-in on your device, for example with <code>svc login</code>, and open the link in the mail that we
          send you. It signs in this browser too, and then you can add a passkey.
        </p>
      </section>`,
  )
}

/** The device page, with a code filled in. */
export function toDevice(userCode: string | null): string {
  return userCode ? `${PATHS.device}?userCode=${encodeURIComponent(userCode)}` : PATHS.device
}
