import type { Overview } from '../../../../src/control/console/overview/find-overview.ts'
import { overviewPage } from '../../../../src/control/console/overview/overview-page.ts'
import { usagePage } from '../../../../src/control/console/usage/usage-page.ts'
import type { UsageRow, UsageSums } from '../../../../generated/openapi.ts'
import type { FoundSums } from '../../../../src/control/usage/store.ts'
import { sampleLimits } from '../sample-limits.ts'
import type { Words } from '../sample-pages.ts'
import type { Sample, Viewers } from './viewers.ts'

const MONTH = { from: '2026-11-01', to: '2026-11-21' }

/** The overview of a team and its usage. */
export function sampleUsagePages(words: Words, { admin, member }: Viewers): Sample[] {
  const models = sumsOf([
    rowOf({ id: 'vendorb/writer', calls: 1200, failedCalls: 14, costNanoUsd: 148_230_000_000 }),
    rowOf({ id: words.otherDeviceName, calls: 90, costNanoUsd: 4_200_000 }),
    rowOf({ id: 'svc/fast', calls: 310_420, unpricedCalls: 310_420, costNanoUsd: null }),
  ])
  const people = sumsOf([
    rowOf({ id: '1', name: words.email, calls: 2, costNanoUsd: 90_000_000_000 }),
    rowOf({ id: '2', name: null, calls: 1, costNanoUsd: 0 }),
  ])
  const nothing = sumsOf([])
  const full: Overview = {
    isOfTeam: true,
    period: MONTH,
    days: days(),
    models,
    people,
    slowest: slowest(words),
    limits: sampleLimits(words),
  }
  const empty: Overview = {
    isOfTeam: false,
    period: MONTH,
    days: nothing,
    models: nothing,
    people: null,
    slowest: [],
    limits: [],
  }
  const period = { period: MONTH, today: '2026-11-21' }
  return [
    ['team-overview', overviewPage(admin, full)],
    ['team-overview-empty', overviewPage(member, empty)],
    ['team-usage', usagePage(admin, { ...period, by: 'member', sums: people, days: days(), mistake: null, asked: {} })],
    [
      'team-usage-mistake',
      usagePage(member, {
        ...period,
        by: 'day',
        sums: nothing,
        days: nothing,
        mistake: { field: 'from', message: 'must not be after the last day.' },
        asked: { from: '2026-11-03', to: '2026-11-02' },
      }),
    ],
  ]
}

/** The sums of no calls. */
export const NO_SUMS: UsageSums = {
  calls: 0,
  failedCalls: 0,
  unknownCalls: 0,
  estimatedCalls: 0,
  unpricedCalls: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: null,
}

function rowOf(given: Partial<UsageRow>): UsageRow {
  return { ...NO_SUMS, id: null, name: null, inputTokens: 4_120_300, cacheReadTokens: 90_120, ...given }
}

function sumsOf(rows: readonly UsageRow[]): FoundSums {
  const total = rows.reduce<UsageSums>(
    (sums, row) => ({
      ...sums,
      calls: sums.calls + row.calls,
      failedCalls: sums.failedCalls + row.failedCalls,
      inputTokens: sums.inputTokens + row.inputTokens,
      outputTokens: sums.outputTokens + row.outputTokens,
      costNanoUsd: row.costNanoUsd === null ? sums.costNanoUsd : (sums.costNanoUsd ?? 0) + row.costNanoUsd,
    }),
    NO_SUMS,
  )
  return { rows: [...rows], isTruncated: false, total }
}

function days(): FoundSums {
  return sumsOf(
    Array.from({ length: 21 }, (_, index) =>
      rowOf({
        id: `2026-11-${String(index + 1).padStart(2, '0')}`,
        calls: 400 + index * 37,
        failedCalls: index % 5,
        outputTokens: 81_234,
        // Weekends are quiet.
        costNanoUsd: index % 7 === 0 ? 0 : 3_000_000_000 + ((index * 7919) % 11) * 1_100_000_000,
      }),
    ),
  )
}

function slowest(words: Words): Overview['slowest'] {
  return [
    { model: 'vendorb/writer', calls: 1200, firstByteMs: 840, durationMs: 21_300, slowDurationMs: 92_000 },
    { model: words.otherDeviceName, calls: 9, firstByteMs: 120, durationMs: 940, slowDurationMs: 1300 },
  ]
}
