import { html, type Html, type Interpolation } from '../../http/page.ts'
import type { Secret } from '../../kernel/secret.ts'
import { toUtcText, toUtcTimeOfDay } from '../../kernel/utc-text.ts'
import { ICONS, type IconName } from './icons.ts'

/** Whether a person approves by pressing a button, or has to type the code that the device shows. */
export type ApprovalMode = 'click' | 'code'

/** A login that waits for somebody's yes or no. */
export type PendingLogin = {
  /** As the device reported it, cleaned. */
  readonly deviceName: string
  /** `XXXX-XXXX` */
  readonly userCode: string
  /** Where the device asked from. */
  readonly startIp: string
  readonly startedAt: Date
  readonly expiresAt: Date
  /** This browser has the same IP address; null when that is not known. */
  readonly sameIp: boolean | null
}

/** How a note or an answer feels: it colours the sign, the words say it too. */
export type Tone = 'good' | 'bad' | 'wait' | 'plain'

/** A time for people, in UTC, and for programs. */
export function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${toUtcText(at)}</time>`
}

/** The time of day alone: for what ends within minutes. */
export function timeOfDay(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${toUtcTimeOfDay(at)}</time>`
}

/** Somebody's words, in quotes and kept from turning the words around them. */
export function quoted(words: string): Html {
  return html`<q class="name"><bdi>${words}</bdi></q>`
}

/** The head of an answer: a sign, what happened, and the sentences under it. */
export function answer(tone: Tone, icon: IconName, title: string, sentences: readonly Interpolation[]): Html {
  return html`<span class="sign ${tone}">${ICONS[icon]}</span>
    <h1>${title}</h1>
    ${sentences.map((sentence) => html`<p class="lead">${sentence}</p>`)}`
}

/** What the person has to compare before saying yes: who asks, from where, when, and the code unless it is to be typed. */
export function loginSlip(login: PendingLogin, mode: ApprovalMode): Html {
  return html`<div class="slip">
    ${
      mode === 'click' &&
      html`<div class="slip-code">
        <p>Code on the device’s screen</p>
        <p class="code">${login.userCode}</p>
      </div>`
    }
    <dl>
      <div>
        <dt>Device</dt>
        <dd>${quoted(login.deviceName)} <small>reported by the device</small></dd>
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

/** The sentence that stands before every Approve (RFC 8628 section 5.4). */
export function warning(mode: ApprovalMode): Html {
  const code = mode === 'click' ? 'the code matches your screen' : 'the code is on your own screen'
  return html`<p class="warning">
    ${ICONS.shield}
    <span>Only approve if you started this sign-in and ${code}. Nobody from support will ask you to.</span>
  </p>`
}

function ipHint(same: boolean | null): Interpolation {
  if (same === null) return null
  return same ? ' · same as this browser' : html` · <strong>different from this browser</strong>`
}

/** The token of a link, on its way back in a form's body: never in an address. */
export function tokenField(token: Secret): Html {
  return html`<input type="hidden" name="token" value="${token.reveal()}" />`
}

/** Approve and Deny, side by side and of equal weight. The field is named `action`. */
export const DECISION = html`<div class="decision">
  <button class="button" name="action" value="approve">${ICONS.check} Approve</button>
  <button class="button" name="action" value="deny">${ICONS.cross} Deny</button>
</div>`
