import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import type { NewKey } from '../api-keys/changes.ts'
import type { ListedKey } from '../api-keys/store.ts'
import { codeInput } from '../pages/confirm-page.ts'
import { page } from '../pages/document.ts'
import { PATHS } from '../pages/forms.ts'
import { actionButton, submitButton } from '../pages/buttons.ts'
import type { DeviceAction } from '../pages/forms.ts'
import { createKeyForm, keyRows, newKeyPart } from '../pages/key-parts.ts'
import type { KeyDraft } from '../pages/key-parts.ts'
import { confirmFirst, countOf, noticeBar } from '../pages/parts.ts'
import { passkeyButton } from '../pages/passkey-parts.ts'
import { DECISION, loginFacts, warning } from '../pages/pending-login.ts'
import type { PendingLogin } from '../pages/pending-login.ts'
import type { ListedPasskey } from '../passkeys/store.ts'
import { deviceList, passkeyList } from './device-lists.ts'
import type { AcceptedPasskeys, LastingCredential, ShownDevice } from './device-lists.ts'
import { DEVICE_NOTICES } from './device-notices.ts'
import type { DeviceNotice } from './device-notices.ts'

export type DevicePage = {
  readonly user: { readonly email: string; readonly team: string; readonly role: string }
  /** What the last form did, or why it did nothing. */
  readonly notice: DeviceNotice | null
  /** The code from the address or from the last form. It is filled in, not looked up. */
  readonly userCode: string | null
  /** The pending login that the last form found. */
  readonly found: PendingLogin | null
  readonly devices: readonly ShownDevice[]
  readonly passkeys: readonly ListedPasskey[]
  readonly accepted: AcceptedPasskeys
  readonly keys: readonly ListedKey[]
  /** The models of the team, which a new key can be for. */
  readonly models: readonly string[]
  /** The key that the last form made; only this page shows its secret. */
  readonly madeKey: NewKey | null
  /** The form that made no key, which stays filled in. */
  readonly keyDraft: KeyDraft | null
  /** A new id for the form that makes a key. */
  readonly formId: string
  /** Whether the sign-in of this session is fresh. If not, some actions need a confirmation first. */
  readonly fresh: boolean
  /** The page of a team that a confirmation leads back to; null for this page. */
  readonly next: string | null
  /** Whether the service can send email. */
  readonly hasEmail: boolean
}

/** The page of a signed-in person: approving a device by its code, their devices, passkeys and API keys, sign-out. */
export function devicePage(data: DevicePage): Html {
  return page(
    { title: 'Your devices', layout: 'wide', script: PATHS.passkeyScript },
    html`<div class="title">
        <h1>Your devices</h1>
        <p class="who">
          <span class="name">${data.user.email}</span> <small>${data.user.team} · ${data.user.role}</small>
        </p>
      </div>
      ${LINKS} ${data.notice && noticeOf(data.notice)} ${data.madeKey && newKeyPart(data.madeKey)}
      ${data.found ? decisionPart(data.found) : codePart(data.userCode)} ${!data.fresh && confirmPart(data)}
      ${deviceList(data.devices, lastingOf(data), data.fresh)} ${passkeyList(data.passkeys, data.accepted, data.fresh)}
      ${keyPart(data)} ${signOutPart(data.devices)}`,
  )
}

/** The pages that a signed-in person goes on to. */
const LINKS = html`<nav aria-label="More pages">
  <ul class="links">
    <li><a href="${PATHS.team}">Your team: usage, models, members</a></li>
    <li><a href="${PATHS.session}">Watch a session live</a></li>
    <li><a href="${PATHS.home}">Connect a tool</a></li>
  </ul>
</nav>`

function lastingOf({ passkeys, keys }: DevicePage): LastingCredential[] {
  return [
    ...passkeys.map((passkey) => ({ ...passkey, kind: 'passkey' as const })),
    ...keys.map((key) => ({ ...key, kind: 'key' as const })),
  ]
}

function noticeOf(notice: DeviceNotice): Html {
  const { status, text } = DEVICE_NOTICES[notice]
  return noticeBar(status, text)
}

function codePart(userCode: string | null): Html {
  return html`<section class="part" aria-labelledby="approve">
    <h2 id="approve">Approve a device</h2>
    <form method="post" action="${PATHS.device}" class="code-form">
      <label for="user-code">Code on the device’s screen</label>
      ${codeInput(userCode ?? '')} ${deviceButton('find', 'Continue', 'primary')}
    </form>
  </section>`
}

function decisionPart(login: PendingLogin): Html {
  return html`<section class="part" aria-labelledby="approve">
    <h2 id="approve">Approve this device?</h2>
    ${loginFacts(login, 'click')} ${warning('click')}
    <form method="post" action="${PATHS.device}">
      <input type="hidden" name="userCode" value="${login.userCode}" />
      ${DECISION}
    </form>
  </section>`
}

function keyPart({ keys, models, fresh, formId, keyDraft, notice }: DevicePage): Html {
  const forms = { path: PATHS.device, fresh, formId }
  return html`<section class="part" aria-labelledby="keys">
    <h2 id="keys">API keys ${countOf(keys)}</h2>
    ${
      keys.length === 0
        ? html`<p class="empty">
            None yet. A key is for a program that cannot sign in by itself, such as an editor or a script.
          </p>`
        : keyRows(keys, forms)
    }
    ${!fresh && html`<p class="about">To create a key, ${confirmFirst(PATHS.device)}.</p>`}
    ${(fresh || keyDraft) && createKeyForm(models, forms, { draft: keyDraft, notice })}
  </section>`
}

/** What a session that is not fresh needs before it can change what outlives it. */
function confirmPart({ next, hasEmail, passkeys }: DevicePage): Html {
  const canUsePasskey = passkeys.length > 0 || !hasEmail
  return html`<section class="part" aria-labelledby="confirm">
    <h2 id="confirm">Confirm that it is you</h2>
    <p class="about">
      You signed in here more than 15 minutes ago. Changing passkeys, creating keys, making admins and changing backends
      needs a confirmation, so that nobody who finds this browser open can do it.
    </p>
    <div class="confirm">
      ${canUsePasskey && passkeyButton({ then: next ?? PATHS.device, label: 'Confirm with a passkey' })}
      ${
        hasEmail &&
        html`<form method="post" action="${PATHS.device}">
          ${next && html`<input type="hidden" name="page" value="${next}" />`}
          ${deviceButton('confirm-email', 'Confirm by email')}
        </form>`
      }
    </div>
  </section>`
}

function signOutPart(devices: readonly ShownDevice[]): Html {
  return html`<section class="part" aria-labelledby="sign-out">
    <h2 id="sign-out">Sign out</h2>
    <p class="about">You can sign out this browser only, your devices and other browsers, or all of them.</p>
    <div class="buttons">
      <form method="post" action="${PATHS.signOut}">${submitButton('Sign out here')}</form>
      <form method="post" action="${PATHS.device}">${deviceButton('sign-out-others', 'Sign out everywhere else')}</form>
      <details class="fold">
        <summary class="button">Sign out everywhere…</summary>
        <form method="post" action="${PATHS.device}" class="fold-body">
          <p>This browser${countOthers(devices)} will be signed out.</p>
          ${deviceButton('sign-out-everywhere', 'Sign out everywhere', 'danger')}
        </form>
      </details>
    </div>
  </section>`
}

function countOthers(devices: readonly ShownDevice[]): string {
  const others = devices.filter(({ current }) => !current).length
  if (others === 0) return ''
  return others === 1 ? ' and one other device or browser' : ` and ${others} other devices and browsers`
}

/** A button of an action that this page has. */
const deviceButton: (action: DeviceAction, label: string, look?: 'primary' | 'danger') => Html = actionButton
