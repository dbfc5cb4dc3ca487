import { describe, expect, it } from 'vitest'
import { toCalls, toDuration, toPercent } from '../../src/control/console/format.ts'
import { dayChart, fillDays } from '../../src/control/console/usage/chart.ts'
import { writeDollars } from '../../src/kernel/formats/usd.ts'

describe('numbers on the pages of a team', () => {
  it.each([
    [0, '$0.00'],
    [1, '$0.000000001'],
    [4_249_999, '$0.0042'],
    [9_999_999, '$0.01'],
    [10_000_000, '$0.01'],
    [1_234_567_890_000, '$1,234.57'],
  ])('writes %i nano USD as %s', (nano, text) => {
    expect(writeDollars(nano)).toBe(text)
  })

  it.each([
    [0, 0, '0%'],
    [0, 10, '0%'],
    [1, 100_000, 'under 0.1%'],
    [25, 1000, '2.5%'],
    [999, 1000, '100%'],
  ])('writes %i of %i as %s', (part, whole, text) => {
    expect(toPercent(part, whole)).toBe(text)
  })

  it.each([
    [0, '0 calls'],
    [1, '1 call'],
    [12_345, '12,345 calls'],
  ])('writes %i calls as %s', (count, text) => {
    expect(toCalls(count)).toBe(text)
  })

  it.each([
    [340.4, '340 ms'],
    [1200, '1.2 s'],
  ])('writes %d ms as %s', (milliseconds, text) => {
    expect(toDuration(milliseconds)).toBe(text)
  })
})

describe('the chart of days', () => {
  it('has a bar for each day of the period, also over the end of February and without a value', () => {
    const days = fillDays(new Map([['2026-03-01', 5]]), '2026-02-27', '2026-03-01')
    expect(days).toEqual([
      { day: '2026-02-27', value: 0 },
      { day: '2026-02-28', value: 0 },
      { day: '2026-03-01', value: 5 },
    ])
    const markup = String(dayChart(days, 'Calls per day', String))
    expect(markup.match(/<rect/g)).toHaveLength(3)
    expect(markup).toContain('Calls per day from 27 Feb 2026 to 1 Mar 2026. Most: 5 on 1 Mar 2026.')
  })

  it('names no day with the most when all values are 0, as of models that cost nothing', () => {
    const days = fillDays(new Map([['2026-03-01', 0]]), '2026-03-01', '2026-03-02')
    expect(String(dayChart(days, 'Spend per day', writeDollars))).toContain(
      'aria-label="Spend per day from 1 Mar 2026 to 2 Mar 2026. Each day: $0.00."',
    )
  })
})
