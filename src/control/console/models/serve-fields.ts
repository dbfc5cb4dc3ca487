/** The fields for the backends that serve a model: a row for each, and an empty one for another backend. */
import type { components } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html } from '../../../http/page.ts'
import { choiceField } from '../../pages/choice-field.ts'
import type { ModelsForm } from './models-outcome.ts'

/** A row as it is filled in. Rows of equal places share the sessions, each by its share. */
export type ServeRow = {
  readonly place: string
  readonly backend: string
  readonly model: string
  readonly when: string
  readonly share: string
}

const EMPTY: ServeRow = { place: '', backend: '', model: '', when: 'always', share: '1' }

/** The most backends that the form takes for one model. */
const MAX_ROWS = 20

/** The rows of what serves a model. */
export function toServeRows(serve: components['schemas']['TeamModel']['serve']): ServeRow[] {
  return serve.map(({ rank, weight, ...entry }) => ({ ...entry, place: String(rank + 1), share: String(weight) }))
}

/** The rows of a form, without those that have no backend. */
export function readServeRows(form: Partial<ModelsForm>): ServeRow[] {
  const { serveBackend = [], serveModel = [], servePlace = [], serveWhen = [], serveShare = [] } = form
  return serveBackend
    .map((backend, at) => ({
      backend,
      model: serveModel[at] ?? '',
      place: servePlace[at] || String(at + 1),
      when: serveWhen[at] ?? EMPTY.when,
      share: serveShare[at] || EMPTY.share,
    }))
    .filter(({ backend }) => backend !== '')
}

/** The rows as `serve` of a model: in the order of their places, rows of equal places together. */
export function toServe(rows: readonly ServeRow[]) {
  const ordered = rows.toSorted((a, b) => Number(a.place) - Number(b.place))
  return [...Map.groupBy(ordered, ({ place }) => Number(place)).values()].map((neighbours) => {
    const entries = neighbours.map(({ backend, model, when, share }) => ({
      backend,
      model,
      when,
      weight: Number(share),
    }))
    return entries.length === 1 ? entries[0] : entries
  })
}

/** The rows as fields, with an empty row behind them. `backends`: the names to choose from. */
export function serveFields(prefix: string, rows: readonly ServeRow[], backends: readonly string[]): Html {
  const shown = rows.length > 0 ? rows : [{ ...EMPTY, place: '1', backend: backends[0] ?? '' }]
  const spare = shown.length < MAX_ROWS ? [{ ...EMPTY, place: String(shown.length + 1) }] : []
  return html`<fieldset class="whole">
    <legend>Served by</legend>
    <p class="hint">
      The backend with the lowest place is asked first, the next one when it fails. Backends with the same place share
      the sessions.
    </p>
    ${[...shown, ...spare].map((row, at) => rowFields(`${prefix}-serve-${at + 1}`, row, backends))}
  </fieldset>`
}

function rowFields(prefix: string, row: ServeRow, backends: readonly string[]): Html {
  const names = new Set([...backends, row.backend])
  return html`<div class="fields">
    ${numberField({ id: `${prefix}-place`, name: 'servePlace', label: 'Place', value: row.place, max: 99 })}
    ${choiceField({
      id: `${prefix}-backend`,
      name: 'serveBackend',
      label: 'Backend',
      choices: [['', 'None'], ...[...names].filter((name) => name !== '').map((name) => [name, name] as const)],
      chosen: row.backend,
    })}
    <div>
      <label for="${prefix}-model">Its name there</label>
      <input
        id="${prefix}-model"
        name="serveModel"
        value="${row.model}"
        maxlength="200"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      />
    </div>
    ${choiceField({
      id: `${prefix}-when`,
      name: 'serveWhen',
      label: 'When',
      choices: [
        ['always', 'Always'],
        ['offline', 'Only while those before it cannot be reached'],
      ],
      chosen: row.when,
    })}
    ${numberField({ id: `${prefix}-share`, name: 'serveShare', label: 'Share', value: row.share, max: 1000 })}
  </div>`
}

type NumberField = {
  readonly id: string
  readonly name: string
  readonly label: string
  readonly value: string
  readonly max: number
}

function numberField({ id, name, label, value, max }: NumberField): Html {
  return html`<div>
    <label for="${id}">${label}</label>
    <input id="${id}" name="${name}" type="number" min="1" max="${max}" value="${value}" />
  </div>`
}
