import type { UsageGrouping } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html } from '../../../http/page.ts'
import { DAY_MS } from '../../../kernel/durations.ts'
import { toDayText, toIsoDay } from '../../../kernel/formats/utc-text.ts'
import { submitButton } from '../../pages/buttons.ts'
import { choiceField } from '../../pages/choice-field.ts'
import { inputField } from '../../pages/input-field.ts'
import { noticeBar } from '../../pages/parts.ts'
import type { PeriodMistake, ReportPeriod } from '../../usage/rules.ts'
import type { FoundSums } from '../../usage/store.ts'
import { capitalized } from '../format.ts'
import { teamPage } from '../frame.ts'
import type { FramedViewer } from '../frame.ts'
import { table } from '../table.ts'
import { labelOf, usageChart, usageColumns } from './usage-table.ts'

export type UsagePage = {
  readonly period: ReportPeriod
  /** Today in UTC, for the links to periods. */
  readonly today: string
  readonly by: UsageGrouping
  readonly sums: FoundSums
  /** The sums of each day, for the chart. */
  readonly days: FoundSums
  /** What was wrong with the period that was asked for. The page then shows this month. */
  readonly mistake: PeriodMistake | null
  /** The period that was asked for, which stays filled in. */
  readonly asked: Partial<ReportPeriod>
}

const GROUPINGS: readonly (readonly [by: UsageGrouping, label: string])[] = [
  ['day', 'Day'],
  ['model', 'Model'],
  ['member', 'Person'],
  ['key', 'API key'],
  ['backend', 'Backend'],
  ['dialect', 'Dialect'],
]

/** What the calls of a period used, by day, model, person and so on. */
export function usagePage(viewer: FramedViewer, data: UsagePage): Html {
  const { period, by, sums, days, mistake } = data
  const heading = GROUPINGS.find(([name]) => name === by)?.[1] ?? 'Day'
  const rows = sums.rows.map((row) => ({ ...row, label: labelOf(by, row) }))
  const title = `${toDayText(period.from)} to ${toDayText(period.to)}`
  return teamPage(
    viewer,
    'usage',
    html`${mistake && noticeBar(400, `${textOf(mistake)} This month is shown instead.`)} ${periodPart(viewer, data)}
      <section class="part" aria-labelledby="period">
        <h2 id="period">${title}${viewer.role === 'admin' ? '' : ', your own calls'}</h2>
        ${
          sums.total.calls === 0
            ? html`<p class="empty">No calls in this period.</p>`
            : html`${usageChart(days.rows, period)}
              ${table(`Usage by ${heading.toLowerCase()}`, usageColumns(heading), rows, {
                ...sums.total,
                label: 'Total',
              })}`
        }
        ${sums.isTruncated && html`<p class="hint">Only the first 1,000 rows are shown. The total includes all.</p>`}
        <p class="next">
          <a class="button" href="${viewer.path}/usage.csv?from=${period.from}&to=${period.to}&by=${by}" download
            >Download as CSV</a
          >
        </p>
      </section>`,
  )
}

const LABELS = { from: 'First day', to: 'Last day' } as const

function textOf({ field, message }: PeriodMistake): string {
  return `${LABELS[field]}: ${message}`
}

function periodPart({ path }: FramedViewer, { period, asked, today, by, mistake }: UsagePage): Html {
  const { from, to } = { ...period, ...asked }
  return html`<section class="part" aria-labelledby="choose">
    <h2 id="choose">Period</h2>
    <form method="get" action="${path}/usage" class="fields">
      ${dayField('from', from, mistake)} ${dayField('to', to, mistake)}
      ${choiceField({ id: 'by', name: 'by', label: 'Group by', choices: GROUPINGS, chosen: by })}
      ${submitButton('Show', 'primary')}
    </form>
    <ul class="links">
      ${presets(today).map(
        ([label, from, to]) => html`<li><a href="${path}/usage?from=${from}&to=${to}&by=${by}">${label}</a></li>`,
      )}
    </ul>
  </section>`
}

function dayField(name: keyof ReportPeriod, value: string, found: PeriodMistake | null): Html {
  return inputField({
    id: name,
    name,
    label: LABELS[name],
    hint: 'UTC',
    value,
    attributes: html`type="date" required`,
    mistake: found?.field === name ? capitalized(found.message) : undefined,
  })
}

/** Periods that people ask for often: each with its first and last day. */
function presets(today: string): readonly (readonly [label: string, from: string, to: string])[] {
  const [year = 0, month = 0] = today.split('-').map(Number)
  const before = (days: number) => toIsoDay(Date.parse(today) - days * DAY_MS)
  return [
    ['This month', `${today.slice(0, 8)}01`, today],
    ['Last month', toIsoDay(Date.UTC(year, month - 2, 1)), toIsoDay(Date.UTC(year, month - 1, 0))],
    ['Last 7 days', before(6), today],
    ['Last 30 days', before(29), today],
    ['Last 90 days', before(89), today],
  ]
}
