import { noticeStatusOf } from './notices.ts'
import type { TeamNotice } from './notices.ts'

/** What a form of a page of a team did, for the page that follows. */
export type TeamFormOutcome<Form> = {
  /** Null: no form was sent. */
  readonly notice: TeamNotice | null
  /** The form that was refused, which stays filled in; null: none was. */
  readonly draft: Form | null
}

/** What a page has before a form was sent. */
export const NOTHING_SENT: TeamFormOutcome<never> = { notice: null, draft: null }

/** The outcome of a form that was sent. A form whose notice is a refusal becomes the draft. */
export function toTeamFormOutcome<Form>(notice: TeamNotice, form: Form): TeamFormOutcome<Form> {
  return { notice, draft: noticeStatusOf(notice) === 200 ? null : form }
}
