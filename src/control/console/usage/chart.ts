import { html } from '../../../http/page.ts'
import type { Html } from '../../../http/page.ts'
import { listDays, toDayText } from '../../../kernel/formats/utc-text.ts'

/** A chart covers at most this many days, so that each bar can be seen. */
export const MAX_CHART_DAYS = 92

/** The value of one day. */
export type DayValue = {
  /** `2026-11-21` */
  readonly day: string
  readonly value: number
}

const HEIGHT = 100
const STEP = 10
const BAR = 7

/** All days of a period, those without a value with 0. */
export function fillDays(values: ReadonlyMap<string, number>, from: string, to: string): DayValue[] {
  return listDays(from, to).map((day) => ({ day, value: values.get(day) ?? 0 }))
}

/**
 * A bar for each day. `what` names the values, such as `Spend per day`, and `write` writes one. The page also has the
 * numbers as a table, because the picture has only a summary for screen readers.
 */
export function dayChart(days: readonly DayValue[], what: string, write: (value: number) => string): Html {
  const highest = days.reduce((best, day) => (day.value > best.value ? day : best), { day: '', value: 0 })
  const most = highest.day ? `Most: ${write(highest.value)} on ${toDayText(highest.day)}.` : `Each day: ${write(0)}.`
  const first = days[0]?.day ?? ''
  const last = days.at(-1)?.day ?? ''
  const summary = `${what} from ${toDayText(first)} to ${toDayText(last)}. ${most}`
  const bars = days.map(({ day, value }, index) =>
    bar(index, value / (highest.value || 1), `${toDayText(day)}: ${write(value)}`),
  )
  return html`<figure class="chart">
    <figcaption><span>${what}</span> <span>up to ${write(highest.value)}</span></figcaption>
    <svg viewBox="0 0 ${days.length * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${summary}">
      <path class="grid" d="M0 0.5H${days.length * STEP}M0 50H${days.length * STEP}" />
      ${bars}
    </svg>
    <p class="axis"><span>${toDayText(first)}</span> <span>${toDayText(last)}</span></p>
  </figure>`
}

function bar(index: number, share: number, label: string): Html {
  const height = share > 0 ? Math.max(share * (HEIGHT - 2), 1.5) : 0
  const [x, y] = [index * STEP + (STEP - BAR) / 2, HEIGHT - height]
  return html`<rect class="bar" x="${x}" y="${y.toFixed(1)}" width="${BAR}" height="${height.toFixed(1)}">
    <title>${label}</title>
  </rect>`
}
