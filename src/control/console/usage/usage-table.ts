import type { UsageGrouping, UsageSums } from '../../../../generated/openapi.ts'
import { html } from '../../../http/page.ts'
import type { Html, Interpolation } from '../../../http/page.ts'
import { toCount } from '../../../kernel/formats/number-format.ts'
import { writeCost, writeDollars } from '../../../kernel/formats/usd.ts'
import { toDayText } from '../../../kernel/formats/utc-text.ts'
import type { ReportPeriod } from '../../usage/rules.ts'
import { toCompact } from '../format.ts'
import type { Column } from '../table.ts'
import { dayChart, fillDays, MAX_CHART_DAYS } from './chart.ts'

/** A row of a report, or the sum of all of them. */
export type ShownRow = UsageSums & { readonly label: Interpolation }

/** What a row is called on the pages. */
export function labelOf(
  by: UsageGrouping,
  row: { readonly id: string | null; readonly name: string | null },
): Interpolation {
  if (by === 'day') return toDayText(row.id ?? '')
  if (by === 'key' && row.id === null) return 'Without a key'
  const gone = by === 'key' ? 'Deleted key' : 'Deleted account'
  const text = by === 'member' || by === 'key' ? (row.name ?? gone) : row.id
  return html`<span class="name">${text}</span>`
}

/** All input, from a cache or not. */
export function inputOf(sums: UsageSums): number {
  return sums.inputTokens + sums.cacheReadTokens + sums.cacheWriteTokens + sums.cacheWriteLongTokens
}

/** A cost, or a softer word where it is not known. */
export function costOf(sums: UsageSums): Interpolation {
  const text = writeCost(sums)
  return text.startsWith('$') ? text : html`<span class="soft">${text}</span>`
}

/** The columns of a report. */
export function usageColumns(heading: string): readonly Column<ShownRow>[] {
  return [
    { heading, cell: ({ label }) => label },
    { heading: 'Cost', isNumber: true, cell: costOf },
    { heading: 'Calls', isNumber: true, cell: ({ calls }) => toCount(calls) },
    { heading: 'Errors', isNumber: true, cell: ({ failedCalls }) => toCount(failedCalls) },
    { heading: 'Input tokens', isNumber: true, cell: (row) => toCount(inputOf(row)) },
    { heading: 'of them cached', isNumber: true, cell: ({ cacheReadTokens }) => toCount(cacheReadTokens) },
    { heading: 'Output tokens', isNumber: true, cell: ({ outputTokens }) => toCount(outputTokens) },
  ]
}

/**
 * The bars of the days of a period: the cost, or the calls where nothing had a price. A sentence for a period that is
 * too long for a chart.
 */
export function usageChart(
  days: readonly (UsageSums & { readonly id: string | null })[],
  { from, to }: ReportPeriod,
): Html {
  const hasCost = days.some(({ costNanoUsd }) => costNanoUsd !== null)
  const values = new Map(days.map((row) => [row.id ?? '', (hasCost ? row.costNanoUsd : row.calls) ?? 0]))
  const shown = fillDays(values, from, to)
  if (shown.length > MAX_CHART_DAYS)
    return html`<p class="about">A chart covers at most ${MAX_CHART_DAYS} days. The table has all days.</p>`
  return hasCost ? dayChart(shown, 'Spend per day', writeDollars) : dayChart(shown, 'Calls per day', toCompact)
}
