import type { LimitsPage } from '../../../src/control/console/limits/limits-page.ts'
import type { Words } from './sample-pages.ts'

/** A limit of each kind, filled with these texts. */
export function sampleLimits(words: Words): LimitsPage['limits'] {
  const limit = {
    id: 'l1',
    team: words.team,
    subject: 'team',
    subjectId: null,
    subjectName: null,
    period: 'month',
    amountNanoUsd: 50_000_000_000,
    spentNanoUsd: 12_400_000_000,
    remainingNanoUsd: 37_600_000_000,
    unknownCalls: 3,
    unpricedCalls: 1240,
    periodStart: '2026-11-01',
    resetsAt: '2026-11-30T23:00:00.000Z',
    timeZone: 'Europe/Berlin',
    createdAt: '2026-11-21T08:59:00.000Z',
  } as const
  const used = { spentNanoUsd: 50_000_000_001, remainingNanoUsd: 0, unknownCalls: 0, unpricedCalls: 0 }
  const counted = { ...limit, unknownCalls: 0, unpricedCalls: 0 }
  return [
    limit,
    { ...counted, id: 'l2', subject: 'members', period: 'day', spentNanoUsd: 1_000_000 },
    { ...limit, ...used, id: 'l3', subject: 'member', subjectId: '1', subjectName: words.email, period: 'week' },
    { ...counted, id: 'l4', subject: 'key', subjectId: 'k1', subjectName: words.passkeyName },
    { ...counted, id: 'l5', subject: 'service_account', subjectId: 'a1', subjectName: 'nightly', spentNanoUsd: 0 },
  ]
}

/** The limits page of an admin whose form was refused. */
export function sampleLimitsPage(words: Words): LimitsPage {
  return {
    limits: sampleLimits(words),
    choices: {
      members: [words.email, 'grace@example.com'],
      serviceAccounts: [{ id: 'a1', name: 'nightly' }],
      keys: [
        { id: 'k1', name: words.passkeyName, owner: 'nightly' },
        { id: 'k2', name: words.deviceName, owner: null },
      ],
    },
    notice: 'invalid_amount',
    draft: { action: 'create', whose: 'service_account:a1', period: 'week', amount: words.deviceName },
  }
}
