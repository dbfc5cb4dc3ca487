import type { ApprovalMode } from '../../config/values.ts'
import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import type { FoundLogin } from '../device-login/rows.ts'
import { showUserCode } from '../device-login/user-code.ts'
import { sourceOfDeviceName } from '../devices/device-name.ts'
import { actionButton } from './buttons.ts'
import { ICONS } from './icons.ts'
import { deviceNamed, ipHint, time, timeOfDay } from './parts.ts'

/** A login that waits for a decision, as the pages show it to the person who decides. */
export type PendingLogin = {
  /** Reported by the device, cleaned. */
  readonly deviceName: string
  /** `XXXX-XXXX` */
  readonly userCode: string
  /** The IP address of the device. */
  readonly startIp: string
  readonly startedAt: Date
  readonly expiresAt: Date
  /** Whether this browser has the same IP address. */
  readonly sameIp: boolean
}

/** A login for a person whose browser has this IP address. */
export function toPendingLogin(login: FoundLogin, browserIp: string): PendingLogin {
  return {
    deviceName: login.deviceName,
    userCode: showUserCode(login.userCode ?? ''),
    startIp: login.startIp,
    startedAt: login.createdAt,
    expiresAt: login.expiresAt,
    sameIp: login.startIp === browserIp,
  }
}

/**
 * What a person compares before approving: the device, its address, the time, and the code unless the person has to
 * type it.
 */
export function loginFacts(login: PendingLogin, mode: ApprovalMode): Html {
  return html`<div class="facts">
    ${
      mode === 'click' &&
      html`<div class="facts-code">
        <p>Code on the device’s screen</p>
        <p class="code">${login.userCode}</p>
      </div>`
    }
    <dl>
      <div>
        <dt>Device</dt>
        <dd>${deviceNamed(login.deviceName)} <small>${sourceOfDeviceName(login.deviceName)}</small></dd>
      </div>
      <div>
        <dt>Place</dt>
        <dd><span class="ip">${login.startIp}</span> <small>IP address${ipHint(login.sameIp)}</small></dd>
      </div>
      <div>
        <dt>Started</dt>
        <dd>${time(login.startedAt)} <small>good until ${timeOfDay(login.expiresAt)}</small></dd>
      </div>
    </dl>
  </div>`
}

/** The warning above every Approve button (RFC 8628, section 5.4). */
export function warning(mode: ApprovalMode): Html {
  const code = mode === 'click' ? 'the code matches your screen' : 'the code is on your own screen'
  return html`<p class="warning">
    ${ICONS.shield}
    <span>Only approve if you started this sign-in and ${code}. Nobody from support will ask you to.</span>
  </p>`
}

/** The buttons Approve and Deny, of equal prominence. They set the field `action`. */
export const DECISION = html`<div class="decision">
  ${actionButton('approve', html`${ICONS.check} Approve`)} ${actionButton('deny', html`${ICONS.cross} Deny`)}
</div>`
