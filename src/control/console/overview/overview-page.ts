import type { UsageGrouping, UsageRow, UsageSums } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { toCount } from '../../../kernel/formats/number-format.ts'
import { toDayText } from '../../../kernel/formats/utc-text.ts'
import type { LimitAnswer } from '../../../spending/answers.ts'
import { PATHS } from '../../pages/forms.ts'
import { lastDayOfMonth } from '../../usage/rules.ts'
import { toCalls, toCompact, toDuration, toPercent } from '../format.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { limitLines } from '../limits/limit-lines.ts'
import type { ModelSpeed } from '../store.ts'
import { table } from '../table.ts'
import type { Column } from '../table.ts'
import { costOf, inputOf, labelOf, usageChart, usageColumns } from '../usage/usage-table.ts'
import type { Overview } from './find-overview.ts'

/** The first page of a team. */
export function overviewPage(viewer: FramedViewer, overview: Overview): Html {
  const { isOfTeam, period, days, models, people, slowest, limits } = overview
  const { total } = days
  return teamPage(
    viewer,
    'overview',
    html`<section class="part" aria-labelledby="month">
        <h2 id="month">${isOfTeam ? 'This month' : 'Your calls this month'}</h2>
        ${tiles(total)} ${total.calls === 0 ? NO_CALLS : spending(overview)}
        <p class="hint">From ${toDayText(period.from)}, in UTC. A call is counted about a second after its end.</p>
      </section>
      ${limits.length > 0 && limitsPart(limits, viewer)}
      ${total.calls > 0 && topPart('Models by cost', 'model', models.rows, `${viewer.path}/usage?by=model`)}
      ${total.calls > 0 && people && topPart('People by cost', 'member', people.rows, `${viewer.path}/usage?by=member`)}
      ${slowest.length > 0 && slowestPart(slowest)}`,
  )
}

function tiles(total: UsageSums): Html {
  const shown: readonly (readonly [term: string, value: Interpolation, detail: Interpolation])[] = [
    ['Spend', costOf(total), total.unpricedCalls > 0 && `${toCalls(total.unpricedCalls)} without a price`],
    ['Calls', toCount(total.calls), total.unknownCalls > 0 && `${toCount(total.unknownCalls)} with unknown usage`],
    ['Errors', toPercent(total.failedCalls, total.calls), toCalls(total.failedCalls)],
    ['Tokens', toCompact(inputOf(total) + total.outputTokens), `${toCompact(total.outputTokens)} of them output`],
  ]
  return html`<dl class="tiles">
    ${shown.map(
      ([term, value, detail]) =>
        html`<div>
          <dt>${term}</dt>
          <dd>${value} ${detail && html`<small>${detail}</small>`}</dd>
        </div>`,
    )}
  </dl>`
}

const NO_CALLS = html`<p class="empty">
  No calls yet. <a href="${PATHS.home}">Connect a tool</a>, and its first call appears here.
</p>`

/** The chart of the whole month, and the same numbers as a table. */
function spending({ period, days }: Overview): Html {
  const rows = days.rows.map((row) => ({ ...row, label: labelOf('day', row) }))
  return html`${usageChart(days.rows, { from: period.from, to: lastDayOfMonth(period.from) })}
    <details class="fold">
      <summary class="button quiet">Show as a table</summary>
      ${table('Usage by day', usageColumns('Day'), rows)}
    </details>`
}

function topPart(title: string, by: UsageGrouping, rows: readonly UsageRow[], href: string): Html {
  const shown = rows.map((row) => ({ ...row, label: labelOf(by, row) }))
  const columns = usageColumns(by === 'model' ? 'Model' : 'Person').slice(0, 4)
  return html`<section class="part" aria-labelledby="by-${by}">
    <h2 id="by-${by}">${title}</h2>
    ${table(title, columns, shown)}
    <p class="next"><a href="${href}">All ${by === 'model' ? 'models' : 'people'}</a></p>
  </section>`
}

const MAX_LIMITS = 5

/** The limits of which the most is used. */
function limitsPart(limits: readonly LimitAnswer[], { role, path }: FramedViewer): Html {
  const used = ({ spentNanoUsd, amountNanoUsd }: LimitAnswer) => spentNanoUsd / amountNanoUsd
  const shown = limits.toSorted((a, b) => used(b) - used(a)).slice(0, MAX_LIMITS)
  return html`<section class="part" aria-labelledby="limits">
    <h2 id="limits">${role === 'admin' ? 'Spending limits' : 'Your spending limits'}</h2>
    <ul class="rows">
      ${shown.map((limit) => html`<li class="row plain">${limitLines(limit, role)}</li>`)}
    </ul>
    <p class="next"><a href="${path}/limits">All limits</a></p>
  </section>`
}

const SPEED_COLUMNS: readonly Column<ModelSpeed>[] = [
  { heading: 'Model', cell: ({ model }) => html`<span class="name">${model}</span>` },
  { heading: 'First byte', isNumber: true, cell: ({ firstByteMs }) => toDuration(firstByteMs) },
  { heading: 'Whole answer', isNumber: true, cell: ({ durationMs }) => toDuration(durationMs) },
  { heading: 'Slowest 5%', isNumber: true, cell: ({ slowDurationMs }) => `over ${toDuration(slowDurationMs)}` },
  { heading: 'Calls', isNumber: true, cell: ({ calls }) => toCount(calls) },
]

function slowestPart(slowest: readonly ModelSpeed[]): Html {
  return html`<section class="part" aria-labelledby="slowest">
    <h2 id="slowest">Slowest models lately</h2>
    ${table('Slowest models lately', SPEED_COLUMNS, slowest)}
    <p class="hint">Half of the calls were faster than the times of the first two columns.</p>
  </section>`
}
