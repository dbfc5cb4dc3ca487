import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'

type Look = 'primary' | 'danger'

/** A button that sends its form, with the field `action`. */
export function actionButton(action: string, label: Interpolation, look?: Look): Html {
  return button(html`name="action" value="${action}"`, label, look)
}

/** A button that sends its form, which has one action only. */
export function submitButton(label: Interpolation, look?: Look): Html {
  return button(null, label, look)
}

/** Safari focuses only buttons that have a `tabindex`. The style that ignores a second click needs the focus. */
function button(attributes: Html | null, label: Interpolation, look: Look | undefined): Html {
  return html`<button tabindex="0" class="button ${look}" ${attributes}>${label}</button>`
}
