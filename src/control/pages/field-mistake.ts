import { html } from '../../http/page.ts'
import type { Interpolation } from '../../http/page.ts'

/**
 * The attributes of a field that a form was refused for: screen readers read the mistake with the field, and the first
 * such field of a page has the focus. Nothing without a mistake.
 */
export function mistakenField(id: string, mistake: string | undefined): Interpolation {
  return mistake && html`aria-invalid="true" aria-describedby="${id}-mistake" autofocus`
}

/** The same for a group of fields. */
export function mistakenGroup(id: string, mistake: string | undefined): Interpolation {
  return mistake && html`aria-describedby="${id}-mistake" tabindex="-1" autofocus`
}

/** What is wrong with a field or a group, below its label. A button beside the field stays beside it. */
export function mistakeText(id: string, mistake: string | undefined): Interpolation {
  return mistake && html`<p class="mistake" id="${id}-mistake">${mistake}</p>`
}
