import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { mistakenField, mistakeText } from './field-mistake.ts'

type InputField = {
  readonly id: string
  readonly name: string
  readonly label: string
  /** What the label says besides, such as the unit. */
  readonly hint?: string | undefined
  /** What the field holds when the page is opened. */
  readonly value?: string | undefined
  /** The other attributes of the input. */
  readonly attributes: Html
  /** What is wrong with its value; undefined for nothing. */
  readonly mistake?: string | undefined
}

/** The attributes of an input whose text keyboards and spelling checks must not change, such as a name. */
export const AS_TYPED = html`autocapitalize="none" spellcheck="false"`

/** A labelled input of a form. Browsers do not suggest earlier values for it. */
export function inputField({ id, name, label, hint, value, attributes, mistake }: InputField): Html {
  return html`<div>
    <label for="${id}">${label} ${hint && html`<small>${hint}</small>`}</label>
    ${mistakeText(id, mistake)}
    <input id="${id}" name="${name}" value="${value}" ${attributes} autocomplete="off" ${mistakenField(id, mistake)} />
  </div>`
}
