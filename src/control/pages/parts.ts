import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { toUtcText, toUtcTimeOfDay } from '../../kernel/formats/utc-text.ts'
import type { Secret } from '../../kernel/secret.ts'
import { UNNAMED_DEVICE } from '../devices/device-name.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import type { IconName } from './icons.ts'

/** The colour of a notice or an answer. The text says the same. */
export type Tone = 'good' | 'bad' | 'wait' | 'plain'

/** A message above the content of a page with this status, which screen readers announce. */
export function noticeBar(status: number, text: string): Html {
  const [tone, role, icon] =
    status < 400 ? (['good', 'status', 'check'] as const) : (['bad', 'alert', 'alert'] as const)
  return html`<p class="notice ${tone}" role="${role}">${ICONS[icon]} <span>${text}</span></p>`
}

/** A time in UTC, readable for people and programs. */
export function time(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${toUtcText(at)}</time>`
}

/** The time of day only, for what ends within minutes. */
export function timeOfDay(at: Date): Html {
  return html`<time datetime="${at.toISOString()}">${toUtcTimeOfDay(at)}</time>`
}

/** A caller's text in quotes, isolated so that its writing direction cannot change the text around it. */
export function quoted(text: string): Html {
  return html`<q class="name"><bdi>${text}</bdi></q>`
}

/** A device's name in quotes; no quotes where the device reported none. */
export function deviceNamed(name: string): Html {
  return name === UNNAMED_DEVICE ? html`<span class="name">${name}</span>` : quoted(name)
}

/** The head of an answer: an icon, what happened, and the sentences below it. */
export function answer(tone: Tone, icon: IconName, title: string, sentences: readonly Interpolation[]): Html {
  return html`<span class="sign ${tone}">${ICONS[icon]}</span>
    <h1>${title}</h1>
    ${sentences.map((sentence) => html`<p class="lead">${sentence}</p>`)}`
}

/** Says that another account is signed in to this browser, and that `step`, such as "approve", ends that sign-in. */
export function otherSignIn(step: string): Html {
  return html`<p class="about">
    This browser is signed in to another account. If you ${step}, that account is signed out here, and this one is
    signed in.
  </p>`
}

/** Whether an address is this browser's. */
export function ipHint(same: boolean): Interpolation {
  return same ? ' · same as this browser' : html` · <strong>different from this browser</strong>`
}

/** The token of a link as a hidden field, so that it travels in the form's body and never in an address. */
export function tokenField(token: Secret): Html {
  return html`<input type="hidden" name="token" value="${token.reveal()}" />`
}

/** A second step that works without JavaScript, because these actions cannot be undone. */
export function fold(label: string, of: string, body: Interpolation, isOpen = false): Html {
  return html`<details class="fold" name="row" ${isOpen && html`open`}>
    <summary class="button quiet">${label}<span class="unseen"> ${of}</span></summary>
    <div class="fold-body">${body}</div>
  </details>`
}

/** The length of a list, beside its heading; nothing for an empty one. */
export function countOf(list: readonly unknown[]): Interpolation {
  return list.length > 0 && html`<span class="count">${list.length}</span>`
}

/**
 * The end of a sentence that says what a session that is not fresh cannot do. `path`: the page that has the sentence,
 * which the confirmation leads back to.
 */
export function confirmFirst(path: string): Html {
  const query = path === PATHS.device ? '' : `?page=${encodeURIComponent(path)}`
  return html`<a href="${PATHS.device}${query}#confirm">confirm that it is you</a> first`
}
