import type { components } from '../../../generated/openapi.ts'
import { html } from '../../http/page.ts'
import type { Html, Interpolation } from '../../http/page.ts'
import { time } from '../pages/parts.ts'
import { teamPage } from './frame.ts'
import type { FramedViewer } from './frame.ts'
import { nextPage, table } from './table.ts'
import type { Column } from './table.ts'

type AuditEvent = components['schemas']['AuditEvent']

export type AuditPage = {
  readonly events: readonly AuditEvent[]
  /** Where the next page begins; null on the last page. */
  readonly next: string | null
}

/** The changes that were made in a team, for its admins. */
export function auditPage(viewer: FramedViewer, { events, next }: AuditPage): Html {
  return teamPage(
    viewer,
    'audit',
    html`<section class="part" aria-labelledby="events">
      <h2 id="events">Changes, the newest first</h2>
      ${events.length === 0 ? NONE : table('Changes', COLUMNS, events)}
      ${nextPage(next && `${viewer.path}/audit?before=${next}`, 'Older changes')}
    </section>`,
  )
}

const NONE = html`<p class="empty">There are no changes on this page.</p>`

const COLUMNS: readonly Column<AuditEvent>[] = [
  { heading: 'When', cell: ({ at }) => html`<span class="day">${time(new Date(at))}</span>` },
  { heading: 'What', cell: ({ action }) => toWords(action) },
  { heading: 'Of', cell: ({ subject }) => text(subject) },
  { heading: 'By', cell: ({ actor }) => (actor.kind === 'file' ? 'Directory file' : text(actor.email)) },
  { heading: 'From', cell: ({ ip }) => ip && html`<span class="ip">${ip}</span>` },
  { heading: 'Details', cell: ({ details }) => html`<small class="name details">${toList(details)}</small>` },
]

/** `api_key.created` as `API key created`. */
function toWords(action: string): string {
  const words = action.replaceAll(/[._]/g, ' ').replace(/^api /, 'API ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function text(value: string | null): Interpolation {
  return value && html`<span class="name">${value}</span>`
}

/** The details that are texts or numbers, as `role admin, previous role member`. */
function toList(details: Readonly<Record<string, unknown>>): string {
  return Object.entries(details)
    .filter(([, value]) => typeof value === 'string' || typeof value === 'number')
    .map(([name, value]) => `${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${String(value)}`)
    .join(', ')
}
