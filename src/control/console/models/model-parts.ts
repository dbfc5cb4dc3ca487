import type { TeamModel, TeamModelsForm } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { toCount } from '../../../kernel/formats/number-format.ts'
import { prefixOfTeam } from '../../../kernel/team-name.ts'
import { actionButton } from '../../pages/buttons.ts'
import { AS_TYPED, inputField } from '../../pages/input-field.ts'
import { fold } from '../../pages/parts.ts'
import { LABELS } from './models-outcome.ts'
import type { FormMistakes } from './models-outcome.ts'
import { readServeRows, serveFields, toServeRows } from './serve-fields.ts'
import type { ServeRow } from './serve-fields.ts'

/** What the forms of the models page have in common. */
export type ModelsPageForms = {
  /** Where forms are sent. */
  readonly path: string
  /** The form that was refused. */
  readonly draft: TeamModelsForm | null
  readonly mistakes: FormMistakes
  /** `@organization/name` */
  readonly team: string
}

/** The models that admins have added, each with its form, and the form for another one. */
export function ownModelsPart(models: readonly TeamModel[], backends: readonly string[], forms: ModelsPageForms): Html {
  const own = models.filter(({ source }) => source === 'admin')
  return html`<section class="part" aria-labelledby="own-models">
    <h2 id="own-models">Models that admins add</h2>
    <p class="about">
      Each is another name for what serves a model of the team, or a model of a backend below. Only this team sees them.
    </p>
    ${
      own.length > 0 &&
      html`<ul class="rows">
        ${own.map((model) => ownModel(model, backends, forms))}
      </ul>`
    }
    ${
      backends.length > 0
        ? html`<div class="foot">${addModelForm(backends, forms)}</div>`
        : html`<p class="empty">The team has no backend yet that a model could name.</p>`
    }
  </section>`
}

function addModelForm(backends: readonly string[], { path, draft, mistakes, team }: ModelsPageForms): Html {
  const given = draft?.action === 'add-model' ? draft : null
  return fold(
    'Add a model',
    '',
    html`<form method="post" action="${path}" class="fields">
      ${inputField({
        id: 'new-model-model',
        name: 'model',
        label: `Name, after ${prefixOfTeam(team)}`,
        value: given?.model,
        attributes: html`required maxlength="64" ${AS_TYPED}`,
        mistake: given ? mistakes['id'] : undefined,
      })}
      ${modelFields({
        prefix: 'new-model',
        values: given ?? {},
        serve: readServeRows(given ?? {}),
        backends,
        mistakes: given ? mistakes : {},
        inherited: null,
      })}
      ${actionButton('add-model', 'Add the model', 'primary')}
    </form>`,
    given !== null,
  )
}

function ownModel(model: TeamModel, backends: readonly string[], forms: ModelsPageForms): Html {
  const { path, draft, mistakes } = forms
  const { id, displayName, contextWindow, own } = model
  const given = draft?.action === 'change-model' && draft.model === id ? draft : null
  const hidden = html`<input type="hidden" name="model" value="${id}" />`
  return html`<li class="row">
    <p class="row-name"><span class="name">${displayName}</span></p>
    <p class="row-facts"><span class="name">${id}</span></p>
    ${fold(
      'Edit',
      id,
      [
        html`<form method="post" action="${path}" class="fields">
          ${hidden} ${versionField(model)}
          ${modelFields({
            prefix: id,
            values: given ?? toForm(model),
            serve: given ? readServeRows(given) : toServeRows(model.serve),
            backends,
            mistakes: given ? mistakes : {},
            inherited: own?.contextWindow ? null : contextWindow,
          })}
          ${actionButton('change-model', 'Save')}
        </form>`,
        html`<form method="post" action="${path}">
          ${hidden}
          <p>Calls of it are refused within 5 seconds. What it was used for stays in the reports.</p>
          ${actionButton('delete', 'Delete the model', 'danger')}
        </form>`,
      ],
      given !== null,
    )}
  </li>`
}

/** The version that a form shows, so that it replaces no change of another admin unseen. */
export function versionField({ version }: Pick<TeamModel, 'version'>): Html {
  return html`<input type="hidden" name="version" value="${version}" />`
}

type Values = Partial<TeamModelsForm>

/** An inherited context window does not fill its field: once it is saved, it would no longer follow the file. */
function toForm({ displayName, aliases, own }: TeamModel): Values {
  return {
    displayName,
    aliases: aliases.join(', '),
    ...(own?.contextWindow && { contextWindow: String(own.contextWindow) }),
  }
}

type ModelFields = {
  /** What the ids of these fields begin with. */
  readonly prefix: string
  readonly values: Values
  readonly serve: readonly ServeRow[]
  /** The names to choose from. */
  readonly backends: readonly string[]
  readonly mistakes: FormMistakes
  /** The context window that the model has while its field is empty; null: not known. */
  readonly inherited: number | null
}

function modelFields({ prefix, values, serve, backends, mistakes, inherited }: ModelFields): Interpolation {
  const { displayName, aliases, contextWindow } = values
  return [
    inputField({
      id: `${prefix}-displayName`,
      name: 'displayName',
      label: LABELS.displayName,
      value: displayName,
      attributes: html`required maxlength="200"`,
      mistake: mistakes['displayName'],
    }),
    inputField({
      id: `${prefix}-aliases`,
      name: 'aliases',
      label: LABELS.aliases,
      hint: 'optional',
      value: aliases,
      attributes: html`maxlength="2600" ${AS_TYPED}`,
      mistake: mistakes['aliases'],
    }),
    inputField({
      id: `${prefix}-contextWindow`,
      name: 'contextWindow',
      label: LABELS.contextWindow,
      hint: inherited === null ? 'empty: inherited' : `empty: inherited, ${toCount(inherited)}`,
      value: contextWindow,
      attributes: html`maxlength="9"`,
      mistake: mistakes['contextWindow'],
    }),
    serveFields(prefix, serve, backends, mistakes),
  ]
}
