import type { TeamModelsForm } from '../../../../generated/openapi.ts'
import { NOTHING_SENT } from '../form-outcome.ts'
import type { TeamFormOutcome } from '../form-outcome.ts'
import type { TeamNotice } from '../notices.ts'

/** What a form of the models page did. */
export type ModelsOutcome = TeamFormOutcome<TeamModelsForm> & {
  /** A sentence that says more. */
  readonly detail: string | null
  /** What is wrong with the fields of the refused form. */
  readonly mistakes: FormMistakes
}

/** What is wrong with fields: by the API's name of a field, and such as `model-0` for the first row of backends. */
export type FormMistakes = Readonly<Record<string, string>>

/** What the forms call the fields of the API. */
export const LABELS = {
  id: 'Name',
  name: 'Name',
  displayName: 'Display name',
  aliases: 'Other names',
  contextWindow: 'Context in tokens',
  serve: 'Served by',
  backend: 'Backend',
  model: 'Model at the backend',
  when: 'When',
  weight: 'Share',
  dialects: 'Dialects',
  url: 'URL, without /v1',
  basePath: 'Path of its API, /v1 if empty',
  credential: 'Credential',
} as const

/** An outcome without anything to fill in again. */
export function toOutcome(notice: TeamNotice): ModelsOutcome {
  return { ...NO_OUTCOME, notice }
}

/** What a page has before a form was sent. */
export const NO_OUTCOME: ModelsOutcome = { ...NOTHING_SENT, detail: null, mistakes: {} }
