import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { ICONS } from './icons.ts'

/**
 * A button that signs in with a passkey. The script shows it in browsers that support passkeys. `then` is the path to
 * open afterwards; null reloads the page. The page must load the passkey script.
 */
export function passkeyButton({
  then,
  label = 'Sign in with a passkey',
  look = 'primary',
}: {
  readonly then: string | null
  readonly label?: string
  readonly look?: 'primary' | ''
}): Html {
  return html`<div data-passkey-when="supported" hidden>
      <button type="button" tabindex="0" class="button ${look}" data-passkey="sign-in" data-then="${then ?? ''}">
        ${ICONS.key} ${label}
      </button>
      ${PASSKEY_STATUS}
    </div>
    ${PASSKEY_MISSING}`
}

/** Where the script reports progress and errors. Screen readers announce it. */
export const PASSKEY_STATUS = html`<p class="status" role="status" data-passkey-status></p>`

/** What a person sees whose browser does not support passkeys or JavaScript. */
export const PASSKEY_MISSING = html`<p class="hint" data-passkey-when="unsupported" hidden>
    This browser cannot use passkeys on this address.
  </p>
  <noscript><p class="hint">Passkeys need JavaScript. Everything else here works without it.</p></noscript>`
