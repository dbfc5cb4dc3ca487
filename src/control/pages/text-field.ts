import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { mistakenField, mistakeText } from './field-mistake.ts'

type Field = {
  readonly id: string
  readonly name: string
  readonly label: string
  /** What the field holds when the page is opened. */
  readonly value: string
  readonly isOptional?: boolean
  /** What the label says besides of an optional field; `optional` unless given. */
  readonly hint?: string | undefined
  readonly maxLength?: number
  /** Keyboards and spelling checks do not change what is typed. */
  readonly isName?: boolean
  /** What is wrong with its value; undefined for nothing. */
  readonly mistake?: string | undefined
}

/** A field of a form for one line of text. It is required unless it is optional. */
export function textField({ id, name, label, value, mistake, ...field }: Field): Html {
  const { isOptional = false, hint = 'optional', maxLength = 64, isName = false } = field
  return html`<div>
    <label for="${id}">${label} ${isOptional && html`<small>${hint}</small>`}</label>
    ${mistakeText(id, mistake)}
    <input
      id="${id}"
      name="${name}"
      value="${value}"
      maxlength="${maxLength}"
      autocomplete="off"
      ${!isOptional && html`required`}
      ${isName && html`autocapitalize="none" spellcheck="false"`}
      ${mistakenField(id, mistake)}
    />
  </div>`
}
