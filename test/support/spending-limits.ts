import type { CountedLimit } from '../../src/spending/rules.ts'

/** 1 USD in 10^-9 USD. */
export const USD = 1e9

/** A limit of 10 USD a day for @acme/core, on 2026-11-21 in UTC. */
export function limitOf(given: Partial<CountedLimit> = {}): CountedLimit {
  return {
    id: 'limit',
    team: '@acme/core',
    timeZone: 'UTC',
    subject: 'team',
    subjectId: null,
    subjectName: null,
    keyIds: [],
    period: 'day',
    amountNanoUsd: 10 * USD,
    createdAt: new Date('2026-11-01T09:00:00Z'),
    span: { from: '2026-11-21', until: '2026-11-22', resetsAt: new Date('2026-11-22T00:00:00Z') },
    spent: new Map(),
    ...given,
  }
}
