import { html } from '../../http/page.ts'
import type { Html } from '../../http/page.ts'
import { toCount } from '../../kernel/formats/number-format.ts'
import type { ListedSession } from '../agent-sessions/store.ts'
import { PATHS } from '../pages/forms.ts'
import { time } from '../pages/parts.ts'
import { teamPage } from './frame.ts'
import type { FramedViewer } from './frame.ts'
import { pageLinks, table } from './table.ts'
import type { Column } from './table.ts'

export type SessionsPage = {
  readonly sessions: readonly ListedSession[]
  readonly isFirst: boolean
  /** Where the next page begins; null on the last page. */
  readonly next: string | null
}

/** The runs of agents, each with a link to its live view. */
export function sessionsPage(viewer: FramedViewer, { sessions, isFirst, next }: SessionsPage): Html {
  const path = `${viewer.path}/sessions`
  const pages = { first: isFirst ? null : path, next: next && `${path}?before=${encodeURIComponent(next)}` }
  return teamPage(
    viewer,
    'sessions',
    html`<section class="part" aria-labelledby="sessions">
      <h2 id="sessions">Runs of agents, the most recently active first</h2>
      ${
        sessions.length === 0
          ? html`<p class="empty">
              None yet. A session begins with the first model call that has the header <code>X-Svc-Session-Id</code>, or
              the header that coding agents send by themselves. <a href="${PATHS.home}">Connect a tool</a>.
            </p>`
          : table('Sessions', columnsFor(viewer.team), sessions)
      }
      ${pageLinks(pages, 'Older sessions')}
    </section>`,
  )
}

function columnsFor(team: string): readonly Column<ListedSession>[] {
  return [
    { heading: 'Session', cell: (session) => sessionLink(team, session) },
    { heading: 'By', cell: ({ account }) => html`<span class="name">${account}</span>` },
    { heading: 'Model', cell: ({ model }) => html`<span class="name">${model}</span>` },
    { heading: 'Calls', isNumber: true, cell: ({ calls }) => toCount(calls) },
    { heading: 'Errors', isNumber: true, cell: ({ failedCalls }) => toCount(failedCalls) },
    {
      heading: 'Tokens',
      isNumber: true,
      cell: ({ inputTokens, outputTokens }) => toCount(inputTokens + outputTokens),
    },
    { heading: 'Last active', cell: ({ lastActiveAt }) => time(lastActiveAt) },
  ]
}

/** The id is in the fragment, which browsers do not send to servers. */
function sessionLink(team: string, { sessionId, account, runningCalls }: ListedSession): Html {
  const fragment = new URLSearchParams({ id: sessionId, account, team })
  return html`<a class="name" href="${PATHS.session}#${fragment.toString()}">${sessionId}</a>
    ${runningCalls > 0 && html`<span class="badge good">Running</span>`}`
}
