/** What is wrong with a form of the models page, by the labels of its fields, which the page shows. */
import type { TeamModelsForm } from '../../../../generated/openapi.ts'
import { withStop } from '../../../directory/mistakes.ts'
import type { FieldMistake } from '../../../directory/mistakes.ts'
import { capitalized } from '../format.ts'
import type { TeamNotice } from '../notices.ts'
import { LABELS } from './models-outcome.ts'
import type { FormMistakes, ModelsOutcome } from './models-outcome.ts'
import { readServeRows, rowAt } from './serve-fields.ts'
import type { ServeRow } from './serve-fields.ts'

/** A refused form, which stays filled in. Its credential does not, and the field says so. */
export function refuse(form: TeamModelsForm, notice: TeamNotice, found: readonly FieldMistake[] = []): ModelsOutcome {
  const { credential, ...draft } = form
  const { sentence, fields } = toFormMistakes(found, readServeRows(form))
  return { notice, detail: sentence || null, draft, mistakes: { ...(credential && TYPE_AGAIN), ...fields } }
}

const TYPE_AGAIN: FormMistakes = { credential: 'Type it again: a form that is refused does not keep it.' }

/**
 * `sentence` says all mistakes and names each field by its label, and `fields` has the mistakes by the fields that they
 * belong to. `rows`: the rows of the form, one for each backend that serves the model.
 */
export function toFormMistakes(found: readonly FieldMistake[], rows: readonly ServeRow[]) {
  const placed = found.map((mistake) => place(mistake, rows))
  const fields: FormMistakes = Object.fromEntries(
    placed.flatMap(({ field, text }) => (field ? [[field, capitalized(withStop(text))] as const] : [])),
  )
  const texts = placed.map(({ label, text }) => (label ? `${label}: ${text}` : text))
  const sentence = [...new Set(texts)].join('; ')
  return { sentence: sentence && withStop(sentence), fields }
}

type PlacedMistake = { readonly field?: string; readonly label?: string; readonly text: string }

function place({ path, message: text }: FieldMistake, rows: readonly ServeRow[]): PlacedMistake {
  const [name, rank, neighbour] = path
  const member = path.at(-1)
  if (!isLabelled(name)) return { text }
  if (name !== 'serve' || typeof rank !== 'number' || !isLabelled(member))
    return { field: name, label: LABELS[name], text }
  const row = rowAt(rows, rank, typeof neighbour === 'number' ? neighbour : 0)
  return { field: `${member}-${row}`, label: `${LABELS[member]} (row ${row + 1})`, text }
}

function isLabelled(name: string | number = ''): name is keyof typeof LABELS {
  return Object.hasOwn(LABELS, name)
}
