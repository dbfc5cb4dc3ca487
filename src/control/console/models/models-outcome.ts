import type { components } from '../../../../generated/openapi.ts'
import type { TeamNotice } from '../notices.ts'

export type ModelsForm = components['schemas']['TeamModelsForm']

/** What a form of the models page did. */
export type ModelsOutcome = {
  readonly notice: TeamNotice | null
  /** A sentence that says more. */
  readonly detail: string | null
  /** The form that was refused, which stays filled in. */
  readonly draft: ModelsForm | null
}

/** An outcome without anything to fill in again. */
export function toOutcome(notice: TeamNotice | null, detail: string | null = null): ModelsOutcome {
  return { notice, detail, draft: null }
}

/** A refused form, which stays filled in. Its credential does not. */
export function refuse(
  { credential: _credential, ...draft }: ModelsForm,
  notice: TeamNotice,
  detail: string | null = null,
): ModelsOutcome {
  return { notice, detail, draft }
}

/** What a page has before a form was sent. */
export const NO_OUTCOME: ModelsOutcome = { notice: null, detail: null, draft: null }
