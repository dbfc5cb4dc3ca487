import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'

type Field = {
  readonly id: string
  readonly name: string
  readonly label: string
  /** What the field holds when the page is opened. */
  readonly value: string
  readonly isOptional?: boolean
  readonly maxLength?: number
  /** Keyboards and spelling checks do not change what is typed. */
  readonly isName?: boolean
}

/** A field of a form for one line of text. It is required unless it is optional. */
export function textField({ id, name, label, value, isOptional = false, maxLength = 64, isName = false }: Field): Html {
  return html`<div>
    <label for="${id}">${label} ${isOptional && html`<small>optional</small>`}</label>
    <input
      id="${id}"
      name="${name}"
      value="${value}"
      maxlength="${maxLength}"
      autocomplete="off"
      ${!isOptional && html`required`}
      ${isName && html`autocapitalize="none" spellcheck="false"`}
    />
  </div>`
}
