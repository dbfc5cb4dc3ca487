import { describe, expect, it } from 'vitest'
import { toFileName, writeCsv } from '../../src/control/usage/csv.ts'
import type { UsageReport, UsageRow } from '../../generated/openapi.ts'
import { choosePeriod, splitByMonth } from '../../src/control/usage/rules.ts'

const NOW = new Date('2026-11-21T10:00:00Z')

describe('the period of a report', () => {
  const mistake = (field: 'from' | 'to', message: string) => ({ mistake: { field, message } })

  it.each([
    ['of nothing: this month until today', {}, { from: '2026-11-01', to: '2026-11-21' }],
    ['of a first day: until today', { from: '2026-10-05' }, { from: '2026-10-05', to: '2026-11-21' }],
    ['of a last day: its month', { to: '2026-02-28' }, { from: '2026-02-01', to: '2026-02-28' }],
    ['of one day', { from: '2026-11-03', to: '2026-11-03' }, { from: '2026-11-03', to: '2026-11-03' }],
    ['of a leap year', { from: '2024-01-01', to: '2024-12-31' }, { from: '2024-01-01', to: '2024-12-31' }],
    ['in reverse', { from: '2026-11-03', to: '2026-11-02' }, mistake('from', 'must not be after the last day.')],
    ['of too many days', { from: '2025-11-20' }, mistake('from', 'must be later: a report covers at most 366 days.')],
    ['of the year 0', { from: '0000-01-01' }, mistake('from', 'must be a day, such as 2026-11-01.')],
    ['of a day that no month has', { from: '2026-02-31' }, mistake('from', 'must be a day, such as 2026-11-01.')],
    ['of a word', { to: 'today' }, mistake('to', 'must be a day, such as 2026-11-30.')],
    ['of a last day in the year 0', { to: '0000-01-31' }, mistake('to', 'must be a day, such as 2026-11-30.')],
    ['of a time', { to: '2026-11-03T00:00:00Z' }, mistake('to', 'must be a day, such as 2026-11-30.')],
  ])('%s', (_, given, expected) => {
    expect(choosePeriod(given, NOW)).toEqual(expected)
  })
})

describe('the sums that a period is made of', () => {
  const days = (month: string, from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => `${month}-${String(from + at).padStart(2, '0')}`)

  it.each<[string, string, string, Partial<ReturnType<typeof splitByMonth>>]>([
    ['a whole month', '2026-10-01', '2026-10-31', { months: ['2026-10-01'] }],
    [
      'this month until today',
      '2026-11-01',
      '2026-11-21',
      { months: ['2026-11-01'], removed: days('2026-11', 22, 30) },
    ],
    ['a few days of a month', '2026-10-30', '2026-10-31', { days: days('2026-10', 30, 31) }],
    [
      'most of a month',
      '2026-10-03',
      '2026-10-30',
      { months: ['2026-10-01'], removed: ['2026-10-01', '2026-10-02', '2026-10-31'] },
    ],
    [
      'parts of two months',
      '2026-09-27',
      '2026-11-18',
      {
        months: ['2026-10-01', '2026-11-01'],
        days: days('2026-09', 27, 30),
        removed: days('2026-11', 19, 30),
      },
    ],
    ['the first days of this month', '2026-11-01', '2026-11-03', { days: days('2026-11', 1, 3) }],
    ['the end of all years', '9999-12-01', '9999-12-31', { months: ['9999-12-01'] }],
    ['a February', '2024-02-01', '2024-02-29', { months: ['2024-02-01'] }],
  ])('of %s', (_, from, to, parts) => {
    const all = { months: [], days: [], removed: [], ...parts }
    expect(splitByMonth({ from, to }, NOW.toISOString().slice(0, 10))).toEqual(all)
  })

  it('has twelve months for a year', () => {
    const { months, days: alone, removed } = splitByMonth({ from: '2025-11-22', to: '2026-11-21' }, '2026-11-21')
    expect([months.length, alone.length, removed.length]).toEqual([12, 9, 9])
  })
})

const SUMS = {
  calls: 3,
  failedCalls: 1,
  unknownCalls: 0,
  estimatedCalls: 0,
  unpricedCalls: 0,
  inputTokens: 1200,
  cacheReadTokens: 5,
  cacheWriteTokens: 6,
  cacheWriteLongTokens: 7,
  outputTokens: 800,
  reasoningTokens: 200,
  costNanoUsd: 57_600_001,
}

function reportOf(...rows: readonly Partial<UsageRow>[]): UsageReport {
  return {
    team: '@acme/core',
    from: '2026-11-01',
    to: '2026-11-21',
    by: 'member',
    rows: rows.map((row) => ({ id: 'a', name: null, ...SUMS, ...row })),
    truncated: false,
    total: SUMS,
  }
}

describe('a report as CSV', () => {
  it('has a heading, and a line for each row', () => {
    expect(writeCsv(reportOf({ id: 'vendora/large', name: 'Large' }))).toBe(
      'member,name,calls,failed_calls,unknown_calls,estimated_calls,unpriced_calls,input_tokens,cache_read_tokens,' +
        'cache_write_tokens,cache_write_long_tokens,output_tokens,reasoning_tokens,cost_usd\r\n' +
        'vendora/large,Large,3,1,0,0,0,1200,5,6,7,800,200,0.057600001\r\n',
    )
    expect(writeCsv(reportOf()).split('\r\n')).toHaveLength(2)
  })

  it.each([
    ['a formula', '=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
    ['a plus', '+1', "'+1"],
    ['a minus', '-1', "'-1"],
    ['an at sign', '@SUM(1)', "'@SUM(1)"],
    ['a tab', '\t=1', "'\t=1"],
    ['a full-width sign', '＝1', "'＝1"],
    ['a formula behind a semicolon', 'a;=1', "a;'=1"],
    ['a line break', 'a\r\nb', '"a\r\nb"'],
    ['a comma', 'Doe, Ada', '"Doe, Ada"'],
    ['a quote', 'the "best"', '"the ""best"""'],
    ['nothing', null, ''],
  ])('writes a name with %s as text', (_, name, cell) => {
    expect(writeCsv(reportOf({ id: 'x', name })).split('cost_usd\r\n')[1]).toBe(
      `x,${cell},3,1,0,0,0,1200,5,6,7,800,200,0.057600001\r\n`,
    )
  })

  it.each([
    [0, '0.000000000'],
    [1, '0.000000001'],
    [12_345_678_901, '12.345678901'],
    [null, ''],
  ])('writes %s of 10^-9 USD as %j', (costNanoUsd, cell) => {
    expect(writeCsv(reportOf({ costNanoUsd }))).toMatch(new RegExp(`,200,${cell.replace('.', '\\.')}\r\n$`))
  })

  it('is saved under the name of the team and the days', () => {
    expect(toFileName(reportOf())).toBe('usage-acme-core-2026-11-01-2026-11-21.csv')
  })
})
