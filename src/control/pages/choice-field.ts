import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { mistakenField, mistakeText } from './field-mistake.ts'

/** What the form sends, and what people read. */
export type Choice = readonly [value: string, label: string]

/** Choices under a heading. The list leaves out a group without choices. */
export type ChoiceGroup = { readonly heading: string; readonly choices: readonly Choice[] }

export type ChoiceField = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly choices: readonly (Choice | ChoiceGroup)[]
  /** The value that is chosen when the page is opened; the first one unless given. */
  readonly chosen?: string | undefined
  /** What is wrong with the choice; undefined for nothing. */
  readonly mistake?: string | undefined
}

/** A field of a form whose value is chosen from a list. */
export function choiceField({ id, name, label, choices, chosen, mistake }: ChoiceField): Html {
  return html`<div>
    <label for="${id}">${label}</label>
    ${mistakeText(id, mistake)}
    <select id="${id}" name="${name}" ${mistakenField(id, mistake)}>
      ${choices.map((choice) => ('heading' in choice ? group(choice, chosen) : option(choice, chosen)))}
    </select>
  </div>`
}

function group({ heading, choices }: ChoiceGroup, chosen: string | undefined) {
  const options = choices.map((choice) => option(choice, chosen))
  return options.length > 0 && html`<optgroup label="${heading}">${options}</optgroup>`
}

function option([value, label]: Choice, chosen: string | undefined): Html {
  return value === chosen
    ? html`<option value="${value}" selected>${label}</option>`
    : html`<option value="${value}">${label}</option>`
}
