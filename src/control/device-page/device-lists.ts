import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import type { ListedDevice } from '../devices/store.ts'
import { actionButton, submitButton } from '../pages/buttons.ts'
import { PATHS } from '../pages/forms.ts'
import { ICONS } from '../pages/icons.ts'
import { confirmFirst, countOf, deviceNamed, fold, quoted, time } from '../pages/parts.ts'
import { PASSKEY_MISSING, PASSKEY_STATUS } from '../pages/passkey-parts.ts'
import type { ListedPasskey } from '../passkeys/store.ts'

/** A signed-in device or browser. `current`: this page was requested with its session. */
export type ShownDevice = Omit<ListedDevice, 'deviceId' | 'team'> & { readonly current: boolean }

/**
 * The account's passkeys for the browser, which tells its password manager to forget the deleted ones (WebAuthn signal
 * methods).
 */
export type AcceptedPasskeys = {
  readonly rpId: string
  /** The account's user handle, base64url. */
  readonly userId: string
  readonly credentialIds: readonly string[]
}

/** A credential that stays when the device that added it is signed out. */
export type LastingCredential = {
  readonly kind: 'passkey' | 'key'
  readonly name: string
  readonly createdAt: Date
}

/** The signed-in devices and browsers, each with buttons for what its owner can do about it. */
export function deviceList(
  devices: readonly ShownDevice[],
  lasting: readonly LastingCredential[],
  fresh: boolean,
): Html {
  return html`<section class="part" aria-labelledby="devices">
    <h2 id="devices">Devices and browsers ${countOf(devices)}</h2>
    ${
      devices.length === 0
        ? html`<p class="empty">Nothing is signed in. Start with <code>svc login</code> on a device.</p>`
        : html`<ul class="rows">
            ${devices.map((device) => deviceRow(device, lasting, fresh))}
          </ul>`
    }
  </section>`
}

/** The account's passkeys, and a form to add one, which needs a fresh sign-in. */
export function passkeyList(passkeys: readonly ListedPasskey[], accepted: AcceptedPasskeys, fresh: boolean): Html {
  return html`<section
    class="part"
    aria-labelledby="passkeys"
    data-passkey="list"
    data-rp-id="${accepted.rpId}"
    data-user-id="${accepted.userId}"
    data-accepted="${accepted.credentialIds.join(' ')}"
  >
    <h2 id="passkeys">Passkeys ${countOf(passkeys)}</h2>
    ${
      passkeys.length === 0
        ? html`<p class="empty">
            None yet. With a passkey you sign in by fingerprint, face or screen lock, without an email.
          </p>`
        : html`<ul class="rows">
            ${passkeys.map((passkey) => passkeyRow(passkey, fresh))}
          </ul>`
    }
    ${fresh ? ADD_PASSKEY : html`<p class="about">To add a passkey, ${confirmFirst(PATHS.device)}.</p>`}
  </section>`
}

function deviceRow(device: ShownDevice, lasting: readonly LastingCredential[], fresh: boolean): Html {
  const since = lasting.filter(({ createdAt }) => createdAt >= device.firstSeenAt)
  return html`<li class="row device">
    <div class="row-text">
      <p class="row-name">
        ${deviceNamed(device.deviceName)} ${device.current && html`<span class="badge">This ${device.kind}</span>`}
      </p>
      <p class="row-facts">
        <span>Last seen ${time(device.lastSeenAt)} from <span class="ip">${device.lastIp}</span></span>
        <span>First seen ${time(device.firstSeenAt)}, ${approval(device)}</span>
      </p>
    </div>
    ${fold(
      'Sign out',
      `of the ${device.kind} ${device.deviceName}`,
      html`<p>Sign out ${deviceNamed(device.deviceName)}? Its access ends within seconds.</p>
        <form method="post" action="${PATHS.device}">
          <input type="hidden" name="sessionId" value="${device.sessionId}" />
          ${actionButton('revoke-device', `Sign out this ${device.kind}`, 'danger')}
        </form>
        ${!device.current && since.length > 0 && disownForm(device, since, fresh)}`,
    )}
  </li>`
}

/** For a device that its owner did not sign in: a thief may have added credentials that stay after it is signed out. */
function disownForm({ sessionId }: ShownDevice, since: readonly LastingCredential[], fresh: boolean): Html {
  const which = since.length === 1 ? 'it' : 'them'
  return html`<p>
      Was it not you? Added after it signed in:
      ${since.map(({ kind, name }, index) => html`${index > 0 && ', '}the ${kind} ${quoted(name)}`)}.
    </p>
    ${
      fresh
        ? html`<form method="post" action="${PATHS.device}">
            <input type="hidden" name="sessionId" value="${sessionId}" />
            ${actionButton('disown-device', html`Sign out everywhere else and delete ${which}`, 'danger')}
          </form>`
        : html`<p>To sign out everywhere else and delete ${which}, ${confirmFirst(PATHS.device)}.</p>`
    }`
}

function approval({ kind, approvedVia, approverName }: ShownDevice): Interpolation {
  if (approvedVia === 'passkey') return 'signed in by passkey'
  if (approvedVia === 'mail') return kind === 'browser' ? 'signed in by email' : 'approved by email'
  const way = approvedVia === 'user_code' ? 'by its code' : 'on its waiting page'
  return approverName ? html`approved ${way} from ${deviceNamed(approverName)}` : `approved ${way} in a browser`
}

function passkeyRow(passkey: ListedPasskey, fresh: boolean): Html {
  return html`<li class="row">
    <div class="row-text">
      <p class="row-name">${quoted(passkey.name)} ${passkey.synced && html`<span class="badge">Synced</span>`}</p>
      <p class="row-facts">
        <span>${passkey.lastUsedAt ? html`Last used ${time(passkey.lastUsedAt)}` : 'Not used yet'}</span>
        <span>Added ${time(passkey.createdAt)}</span>
      </p>
    </div>
    ${fold('Edit', `the passkey ${passkey.name}`, passkeyForms(passkey, fresh))}
  </li>`
}

function passkeyForms({ id, name }: ListedPasskey, fresh: boolean): Html {
  const inputId = `name-${id}`
  return html`<form method="post" action="${PATHS.device}" class="inline">
      <input type="hidden" name="passkeyId" value="${id}" />
      <label for="${inputId}">Name</label>
      <input id="${inputId}" name="name" value="${name}" required maxlength="64" autocomplete="off" />
      ${actionButton('rename-passkey', 'Rename')}
    </form>
    ${fresh ? deletePasskeyForm(id) : html`<p>To delete it, ${confirmFirst(PATHS.device)}.</p>`}`
}

function deletePasskeyForm(id: string): Html {
  return html`<form method="post" action="${PATHS.device}">
    <input type="hidden" name="passkeyId" value="${id}" />
    <p>Once deleted, it no longer signs you in here, on any of your devices.</p>
    ${actionButton('delete-passkey', 'Delete this passkey', 'danger')}
  </form>`
}

const ADD_PASSKEY = html`<form class="inline add" data-passkey="register" data-passkey-when="supported" hidden>
    <label for="passkey-name">Name of a new passkey <small>optional</small></label>
    <input id="passkey-name" name="name" maxlength="64" autocomplete="off" placeholder="Work laptop" />
    ${submitButton(html`${ICONS.key} Add a passkey`)} ${PASSKEY_STATUS}
  </form>
  ${PASSKEY_MISSING}`
