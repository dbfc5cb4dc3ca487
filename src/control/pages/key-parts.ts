import type { DeviceForm, KeyDays, KeyOverlap } from '../../../generated/openapi.ts'
import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import type { NewKey } from '../api-keys/changes.ts'
import type { ListedKey } from '../api-keys/store.ts'
import { actionButton } from './buttons.ts'
import { choiceField } from './choice-field.ts'
import type { ChoiceField } from './choice-field.ts'
import { PATHS } from './forms.ts'
import { ICONS } from './icons.ts'
import { inputField } from './input-field.ts'
import { KEY_NOTICES } from './key-notices.ts'
import { confirmFirst, fold, quoted, time } from './parts.ts'

/** Where the forms of keys are sent, and whether the sign-in is fresh, which making a key needs. */
export type KeyFormOptions = {
  readonly path: string
  readonly fresh: boolean
  /** A new id for the forms that make a key: the same form, when it is sent again, makes no second key. */
  readonly formId: string
  /** Fields that every form of these keys sends besides its own. */
  readonly fields?: Readonly<Record<string, string>>
  /** Part of the ids of the form's fields, where a page has several of these forms. */
  readonly idPrefix?: string
}

/** Shows the secret of a new key, which no other page does. */
export function newKeyPart({ key, info }: NewKey): Html {
  return html`<section class="part made" aria-labelledby="new-key">
    <h2 id="new-key">${ICONS.key} Your new key ${quoted(info.name)}</h2>
    <p class="about">Copy it now: it is not shown again. It works until ${time(info.expiresAt)}.</p>
    <p class="secret"><code>${key.reveal()}</code></p>
    <p class="hint">
      Send it as <code>Authorization: Bearer</code>, or as <code>x-api-key</code> where the client does that. The
      <a href="${PATHS.docs}#with-other-sdks">API reference</a> has the base URLs. A person who has the key can call the
      models, so keep it where you keep passwords.
    </p>
  </section>`
}

/** The keys that work, each with its forms to rotate and to revoke it. */
export function keyRows(keys: readonly ListedKey[], forms: KeyFormOptions): Html {
  return html`<ul class="rows">
    ${keys.map((key) => keyRow(key, forms))}
  </ul>`
}

/** The fields of a form that made no key, which stay filled in. */
export type KeyDraft = Pick<DeviceForm, 'name' | 'model' | 'expiresInDays'>

/** The form that made no key, and the notice that says why. */
export type RefusedKey = { readonly draft: KeyDraft | null; readonly notice: string | null }

function mistakesOf({ notice }: RefusedKey): { readonly name?: string; readonly model?: string } {
  if (notice === 'invalid_name') return { name: KEY_NOTICES.invalid_name.text }
  return notice === 'unknown_model' ? { model: KEY_NOTICES.unknown_model.text } : {}
}

/** The form that makes a key. `models` are those of the team. */
export function createKeyForm(models: readonly string[], forms: KeyFormOptions, refused: RefusedKey): Html {
  const { draft } = refused
  const mistakes = draft ? mistakesOf(refused) : {}
  const id = (name: string) => `${forms.idPrefix ?? ''}key-${name}`
  return html`<form method="post" action="${forms.path}" class="fields add">
    ${hiddenFields(forms)}
    <input type="hidden" name="formId" value="${forms.formId}" />
    ${inputField({
      id: id('name'),
      name: 'name',
      label: 'Name of a new key',
      value: draft?.name,
      attributes: html`required maxlength="64" placeholder="opencode on laptop-1"`,
      mistake: mistakes.name,
    })}
    ${choiceField({
      id: id('model'),
      name: 'model',
      label: 'Models',
      choices: [['', 'All of the team'], ...models.map((model) => [model, `Only ${model}`] as const)],
      chosen: draft?.model,
      mistake: mistakes.model,
    })}
    ${lifetimeField({ id: id('days'), label: 'Works for', chosen: draft?.expiresInDays })}
    ${actionButton('create-key', html`${ICONS.key} Create a key`)}
  </form>`
}

function keyRow(key: ListedKey, forms: KeyFormOptions): Html {
  return html`<li class="row">
    <div class="row-text">
      <p class="row-name">${quoted(key.name)} ${key.replacedBy && html`<span class="badge plain">Rotated</span>`}</p>
      <p class="row-facts">
        <span><code>${key.prefix}…</code> ${modelsOf(key)}</span>
        <span>
          ${key.lastUsedAt ? html`Last used ${time(key.lastUsedAt)}` : 'Not used yet'} ·
          ${key.replacedBy ? 'works until' : 'expires'} ${time(key.expiresAt)}
        </span>
      </p>
    </div>
    ${fold('Edit', `the key ${key.name}`, [key.replacedBy ? null : rotatePart(key, forms), revokeForm(key, forms)])}
  </li>`
}

function modelsOf({ models, team }: ListedKey): Interpolation {
  if (models === null) return html`all models of <span class="name">${team}</span>`
  return html`only <span class="name">${models.join(', ')}</span>, of <span class="name">${team}</span>`
}

function rotatePart(key: ListedKey, forms: KeyFormOptions): Html {
  if (!forms.fresh) return html`<p>To rotate it, ${confirmFirst(forms.path)}.</p>`
  return html`<form method="post" action="${forms.path}" class="fields">
    ${hiddenFields(forms)}
    <input type="hidden" name="keyId" value="${key.id}" />
    <input type="hidden" name="formId" value="${forms.formId}" />
    ${choiceField({
      id: `overlap-${key.id}`,
      name: 'overlapSeconds',
      label: 'This key works on for',
      choices: OVERLAPS,
      chosen: '86400',
    })}
    ${lifetimeField({ id: `days-${key.id}`, label: 'The new one works for' })} ${actionButton('rotate-key', 'Rotate')}
  </form>`
}

function revokeForm(key: ListedKey, forms: KeyFormOptions): Html {
  return html`<form method="post" action="${forms.path}">
    ${hiddenFields(forms)}
    <input type="hidden" name="keyId" value="${key.id}" />
    <p>It stops working within seconds. This cannot be undone.</p>
    ${actionButton('revoke-key', 'Revoke this key', 'danger')}
  </form>`
}

function lifetimeField({ chosen = '90', ...field }: Pick<ChoiceField, 'id' | 'label' | 'chosen'>): Html {
  return choiceField({ ...field, name: 'expiresInDays', choices: LIFETIMES, chosen })
}

function hiddenFields({ fields = {} }: KeyFormOptions): Interpolation {
  return Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)
}

const LIFETIMES: readonly (readonly [value: KeyDays, text: string])[] = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
]

const OVERLAPS: readonly (readonly [value: KeyOverlap, text: string])[] = [
  ['0', 'no time at all'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
]
