import type { AuditEvent } from '../../../generated/openapi.ts'
import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { writeAuditDetails } from '../../kernel/formats/audit-details.ts'
import { time } from '../pages/parts.ts'
import { capitalized } from './format.ts'
import { teamPage } from './frame.ts'
import type { FramedViewer } from './frame.ts'
import { pageLinks, table } from './table.ts'
import type { Column } from './table.ts'

export type AuditPage = {
  readonly events: readonly AuditEvent[]
  readonly isFirst: boolean
  /** Where the next page begins; null on the last page. */
  readonly next: string | null
}

/** The changes that were made in a team, for its admins. */
export function auditPage(viewer: FramedViewer, { events, isFirst, next }: AuditPage): Html {
  const path = `${viewer.path}/audit`
  return teamPage(
    viewer,
    'audit',
    html`<section class="part" aria-labelledby="events">
      <h2 id="events">Changes, the newest first</h2>
      ${events.length === 0 ? NONE : table('Changes', COLUMNS, events)}
      ${pageLinks({ first: isFirst ? null : path, next: next && `${path}?before=${next}` }, 'Older changes')}
    </section>`,
  )
}

const NONE = html`<p class="empty">There are no changes on this page.</p>`

const COLUMNS: readonly Column<AuditEvent>[] = [
  { heading: 'When', cell: ({ at }) => time(new Date(at)) },
  { heading: 'What', cell: changeOf },
  { heading: 'Of', cell: ({ subject }) => text(subject) },
  { heading: 'By', cell: authorOf },
]

/** The action, and below it what else is known of it. */
function changeOf(event: AuditEvent): Interpolation {
  const details = writeAuditDetails(event)
  return html`${toWords(event.action)} ${details && html`<small class="name under">${details}</small>`}`
}

/** `api_key.created` as `API key created`. */
function toWords(action: string): string {
  return capitalized(action.replaceAll(/[._]/g, ' ').replace(/^api /, 'API '))
}

function text(value: string | null): Interpolation {
  return value && html`<span class="name">${value}</span>`
}

/** Who made the change, and below it the IP address that it came from. */
function authorOf({ actor, ip }: AuditEvent): Interpolation {
  const author = actor.kind === 'file' ? 'Directory file' : text(actor.email)
  return html`${author} ${ip && html`<small class="name under ip">${ip}</small>`}`
}
