/** The fields for the backends that serve a model: a row for each, and an empty one for another backend. */
import type { TeamModel, TeamModelsForm } from '../../../../generated/openapi.ts'
import { MAX_SERVING_BACKENDS } from '../../../directory/backends.ts'
import type { ServeEntry } from '../../../directory/backends.ts'
import { html } from '../../../http/page.ts'
import type { Html } from '../../../http/page.ts'
import { choiceField } from '../../pages/choice-field.ts'
import { mistakenGroup, mistakeText } from '../../pages/field-mistake.ts'
import { AS_TYPED, inputField } from '../../pages/input-field.ts'
import { LABELS } from './models-outcome.ts'
import type { FormMistakes } from './models-outcome.ts'

/** A row as it is filled in. Rows of equal places share the sessions, each by its share. */
export type ServeRow = {
  readonly place: string
  readonly backend: string
  readonly model: string
  readonly when: string
  readonly share: string
}

const EMPTY: ServeRow = { place: '', backend: '', model: '', when: 'always', share: '1' }

/** The rows of what serves a model. */
export function toServeRows(serve: TeamModel['serve']): ServeRow[] {
  return serve.map(({ backend, model, when, rank, weight }) => {
    return { backend, model, when, place: String(rank + 1), share: String(weight) }
  })
}

/** The rows of a form, without those that have no backend. */
export function readServeRows(form: Partial<TeamModelsForm>): ServeRow[] {
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

/** The rows in the order of their places, rows of equal places together. */
function groupByPlace(rows: readonly ServeRow[]): ServeRow[][] {
  const ordered = rows.toSorted((a, b) => Number(a.place) - Number(b.place))
  return [...Map.groupBy(ordered, ({ place }) => Number(place)).values()]
}

/** The position of a row in the form. `rank` and `neighbour`: its place in what `toServe` returns. */
export function rowAt(rows: readonly ServeRow[], rank: number, neighbour: number): number {
  const row = groupByPlace(rows)[rank]?.[neighbour]
  return row ? rows.indexOf(row) : 0
}

/**
 * The rows as `serve` of a model: in the order of their places, rows of equal places together. The form has no field
 * for `caps`, so an entry of the same backend and model keeps those that it had `before`.
 */
export function toServe(rows: readonly ServeRow[], before: readonly ServeEntry[]) {
  return groupByPlace(rows).map((neighbours) => {
    const entries = neighbours.map(({ backend, model, when, share }) => {
      const caps = before.find((entry) => entry.backend === backend && entry.model === model)?.caps
      return { backend, model, when, weight: Number(share), ...(caps && { caps }) }
    })
    return entries.length === 1 ? entries[0] : entries
  })
}

/** The rows as fields, with an empty row behind them. `backends`: the names to choose from. */
export function serveFields(
  prefix: string,
  rows: readonly ServeRow[],
  backends: readonly string[],
  mistakes: FormMistakes,
): Html {
  const id = `${prefix}-serve`
  const shown = rows.length > 0 ? rows : [{ ...EMPTY, place: '1', backend: backends[0] ?? '' }]
  const spare = shown.length < MAX_SERVING_BACKENDS ? [{ ...EMPTY, place: String(shown.length + 1) }] : []
  return html`<fieldset class="whole" ${mistakenGroup(id, mistakes['serve'])}>
    <legend>${LABELS.serve}</legend>
    ${mistakeText(id, mistakes['serve'])}
    <p class="hint">
      The backend with the lowest place is asked first, the next one when it fails. Backends with the same place share
      the sessions.
    </p>
    ${[...shown, ...spare].map((row, at) => rowFields(`${id}-${at + 1}`, row, backends, mistakesOfRow(mistakes, at)))}
  </fieldset>`
}

type RowMistakes = { readonly [Member in 'backend' | 'model' | 'when' | 'weight']: string | undefined }

function mistakesOfRow(mistakes: FormMistakes, at: number): RowMistakes {
  const of = (member: keyof RowMistakes) => mistakes[`${member}-${at}`]
  return { backend: of('backend'), model: of('model'), when: of('when'), weight: of('weight') }
}

function rowFields(prefix: string, row: ServeRow, backends: readonly string[], mistakes: RowMistakes): Html {
  const names = new Set([...backends, row.backend])
  return html`<div class="fields">
    ${inputField({
      id: `${prefix}-place`,
      name: 'servePlace',
      label: 'Place',
      value: row.place,
      attributes: html`type="number" min="1" max="99"`,
    })}
    ${choiceField({
      id: `${prefix}-backend`,
      name: 'serveBackend',
      label: LABELS.backend,
      mistake: mistakes.backend,
      choices: [['', 'None'], ...[...names].filter((name) => name !== '').map((name) => [name, name] as const)],
      chosen: row.backend,
    })}
    ${inputField({
      id: `${prefix}-model`,
      name: 'serveModel',
      label: LABELS.model,
      value: row.model,
      attributes: html`maxlength="200" ${AS_TYPED}`,
      mistake: mistakes.model,
    })}
    ${choiceField({
      id: `${prefix}-when`,
      name: 'serveWhen',
      label: LABELS.when,
      mistake: mistakes.when,
      choices: [
        ['always', 'Always'],
        ['offline', 'Only while those before it cannot be reached'],
      ],
      chosen: row.when,
    })}
    ${inputField({
      id: `${prefix}-share`,
      name: 'serveShare',
      label: LABELS.weight,
      value: row.share,
      attributes: html`type="number" min="1" max="1000"`,
      mistake: mistakes.weight,
    })}
  </div>`
}
