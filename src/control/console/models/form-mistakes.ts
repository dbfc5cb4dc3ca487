/**
 * What is wrong with a form of the models page, in its own words: rules and API name the fields of the API, such as
 * `serve[0].weight`, which the page never shows.
 */
import type { TeamNotice } from '../notices.ts'
import { LABELS } from './models-outcome.ts'
import type { FormMistakes, ModelsForm, ModelsOutcome } from './models-outcome.ts'
import { readServeRows, rowAt } from './serve-fields.ts'
import type { ServeRow } from './serve-fields.ts'

/** A refused form, which stays filled in. Its credential does not. `refusal`: what the rules say of it. */
export function refuse(form: ModelsForm, notice: TeamNotice, refusal: string | null = null): ModelsOutcome {
  const { credential: _credential, ...draft } = form
  const { sentence, fields } = toFormMistakes(refusal ?? '', readServeRows(form))
  return { notice, detail: sentence || null, draft, mistakes: fields }
}

/**
 * Reads the mistakes of a refusal, such as `displayName: must not be empty; serve[1].model: must not be empty.`.
 * `sentence` names each field by its label, and `fields` has the mistakes by the fields that they belong to. `rows`:
 * the rows of the form, one for each backend that serves the model.
 */
export function toFormMistakes(refusal: string, rows: readonly ServeRow[]) {
  const read = refusal.split(/; (?=\w[\w.[\]]*: )/).map((mistake) => readMistake(mistake, rows))
  const fields: FormMistakes = Object.fromEntries(
    read.flatMap(({ field, text }) => (field ? [[field, capitalized(text)] as const] : [])),
  )
  const sentences = read.map(({ label, text }) => (label ? `${label}: ${text}` : text))
  return { sentence: [...new Set(sentences)].join('; '), fields }
}

type FormMistake = { readonly field?: string; readonly label?: string; readonly text: string }

const MISTAKE = /^(?<name>\w+)(?:\[(?<rank>\d+)\](?:\[(?<neighbour>\d+)\])?)?(?:\.(?<member>\w+))?: (?<text>[^]+)$/

function readMistake(mistake: string, rows: readonly ServeRow[]): FormMistake {
  const { name = '', rank, neighbour = '0', member, text = mistake } = MISTAKE.exec(mistake)?.groups ?? {}
  if (!isLabelled(name)) return { text: mistake }
  const shown = OWN_WORDS.reduce((words, [pattern, better]) => words.replace(pattern, better), text)
  if (name !== 'serve' || rank === undefined || !isLabelled(member))
    return { field: name, label: LABELS[name], text: shown }
  const row = rowAt(rows, Number(rank), Number(neighbour))
  return { field: `${member}-${row}`, label: `${LABELS[member]} (row ${row + 1})`, text: shown }
}

function isLabelled(name = ''): name is keyof typeof LABELS {
  return Object.hasOwn(LABELS, name)
}

/** What the rules say, and what the page says instead. */
const OWN_WORDS: readonly (readonly [RegExp, string])[] = [
  [/must not be offline for the first backend/, 'must be Always for the backend that is asked first'],
  [/ GET \/v1\/.+$/, ''],
  [/, or null, /, ' '],
]

function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`
}
