import { describe, expect, it } from 'vitest'
import { findReached } from '../../src/control/spending-limits/rules.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import { completeUsage, estimateUsage, toCallSize } from '../../src/gateway/spending/estimate.ts'
import { judgeSpending, toSpendingRefusal } from '../../src/gateway/spending/rules.ts'
import type { UsedLimit } from '../../src/gateway/spending/rules.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { readUsd, writeExactUsd, writeUsd } from '../../src/kernel/formats/usd.ts'
import { counterOf, describeLimit, indexLimits, limitsOf } from '../../src/spending/rules.ts'
import type { SpendingLimit } from '../../src/spending/rules.ts'
import { endedCall } from '../support/call-events.ts'
import { limitOf, USD } from '../support/spending-limits.ts'

const spentBy = (limit: string, usd: number) =>
  new Map([[limit, { nanoUsd: usd * USD, unknownCalls: 0, unpricedCalls: 0 }]])

describe('the limits of a caller', () => {
  const ada = endedCall({ accountId: 'ada' }).call.caller
  const withKey = (id: string, serviceAccount: string | null = null): Caller => ({
    ...ada,
    key: { id, models: null, serviceAccount },
  })
  const LIMITS = [
    limitOf({ id: 'team' }),
    limitOf({ id: 'members', subject: 'members' }),
    limitOf({ id: 'members-month', subject: 'members', period: 'month' }),
    limitOf({ id: 'ada', subject: 'member', subjectId: 'ada' }),
    limitOf({ id: 'grace', subject: 'member', subjectId: 'grace' }),
    limitOf({ id: 'key', subject: 'key', subjectId: 'key-2', keyIds: ['key-2', 'key-1'] }),
    limitOf({ id: 'builds', subject: 'service_account', subjectId: 'builds' }),
  ]

  it.each<[string, Caller, string[]]>([
    ['replace the one of each member by her own, for the same period', ada, ['team', 'members-month', 'ada']],
    ['are those of each member for another person', { ...ada, accountId: 'bob' }, ['team', 'members', 'members-month']],
    ['include the one of her key', withKey('key-2'), ['team', 'members-month', 'ada', 'key']],
    ['include it for a key that was replaced', withKey('key-1'), ['team', 'members-month', 'ada', 'key']],
    [
      'of a service account are none of members',
      { ...withKey('key-3', 'service:builds'), accountId: 'builds' },
      ['team', 'builds'],
    ],
  ])('%s', (_, caller, expected) => {
    expect(limitsOf(indexLimits(LIMITS), caller).map(({ id }) => id)).toEqual(expected)
  })
})

describe('the counters of a limit', () => {
  it.each([
    ['members', 2],
    ['member', 1],
    ['team', 1],
  ] as const)('of the subject %s for two members are %i', (subject, count) => {
    const counters = ['ada', 'grace'].map((accountId) => counterOf({ id: 'l', subject }, { accountId, keyId: null }))
    expect(new Set(counters).size).toBe(count)
  })
})

describe('a call', () => {
  const used = (spent: number, reserved = 0, given = {}): UsedLimit => {
    return { limit: limitOf(given), spentNanoUsd: spent * USD, reservedNanoUsd: reserved * USD }
  }

  it.each<[string, UsedLimit[], string]>([
    ['starts while its estimate fits in the rest', [used(5, 4)], 'may_start'],
    ['starts alone, whatever it may cost', [used(9.99)], 'may_start'],
    ['waits for running calls that may cost the rest', [used(5, 4.5)], 'reserved'],
    ['is refused when the amount is spent', [used(10)], 'used_up'],
    ['is refused by any of several limits', [used(0), used(11)], 'used_up'],
  ])('%s', (_, limits, expected) => {
    const verdict = judgeSpending(limits, USD)
    expect(typeof verdict === 'string' ? verdict : verdict.refused).toBe(expected)
  })

  it('is refused with the limit that resets last, because until then no other reset helps', () => {
    const span = { from: '2026-11-01', until: '2026-12-01', resetsAt: new Date('2026-11-30T23:00:00Z') }
    const month = { period: 'month', span, timeZone: 'Europe/Berlin' }
    const verdict = judgeSpending([used(10), used(10.5, 0, month)], USD)
    if (verdict === 'may_start') throw new Error('The call was let through.')
    const error = toSpendingRefusal(verdict, { isCodex: false, now: new Date('2026-11-21T00:00:00Z') })
    expect(error).toMatchObject({
      code: 'spending_limit_reached',
      message:
        'The limit of 10.00 USD a month for the team @acme/core is used up: 10.50 USD are spent. ' +
        'It resets at 1 Dec 2026, 00:00 (Europe/Berlin). An admin of the team can raise it.',
      resetsAt: span.resetsAt,
    })
  })

  it('can be repeated soon when only the running calls are in its way', () => {
    const verdict = judgeSpending([used(5, 4.5)], USD)
    if (verdict === 'may_start') throw new Error('The call was let through.')
    const error = toSpendingRefusal(verdict, { isCodex: true, now: new Date() })
    expect([error.code, error.retryAfterSeconds]).toEqual(['rate_limited', 2])
    expect(error.message).toContain('5.00 USD are spent, and running calls may cost the rest (4.50 USD)')
  })
})

it.each<[string, Dialect, Record<string, unknown>, number]>([
  ['the output that it allows', 'chat', { max_tokens: 100 }, 100],
  ['the largest of its limits', 'chat', { max_tokens: 100, max_completion_tokens: 50 }, 100],
  ['no limit of another dialect', 'chat', { max_tokens: 100, max_output_tokens: 1 }, 100],
  ['4,096 tokens where it allows more', 'responses', { max_output_tokens: 32_000 }, 4096],
  ['4,096 tokens where it does not say', 'messages', {}, 4096],
  ['4,096 tokens where it has no limit', 'chat', { max_tokens: 100, n_predict: -1 }, 4096],
  ['the output of all answers that it asks for', 'chat', { max_tokens: 100, n: 3 }, 300],
  ['4,096 tokens for each of them', 'chat', { n: 3, best_of: 5 }, 20_480],
  ['a whole number of tokens', 'chat', { max_tokens: 10.5, n: 1.5 }, 16],
  ['the largest exact number at most', 'chat', { max_tokens: 1e308, n: 1e308 }, Number.MAX_SAFE_INTEGER],
])('an estimate has a quarter of the bytes as input, and %s', (_, dialect, body, outputTokens) => {
  expect(estimateUsage(toCallSize(4001, body, dialect))).toMatchObject({ inputTokens: 1001, outputTokens })
})

it.each<[string, Record<string, unknown>, number, number]>([
  ['a quarter of the bytes', {}, 400, 100],
  ['4,096 tokens of an answer of 100 KB', {}, 100_000, 4096],
  ['one token for 64 bytes of a longer one', {}, 6_400_000, 100_000],
  ['at most what the request allows', { max_tokens: 32_000 }, 6_400_000, 32_000],
  ['at most what the request allows for all its answers', { max_tokens: 100, n: 3 }, 6_400_000, 300],
  ['a whole number of tokens', { max_tokens: 10.5 }, 6_400_000, 11],
])('output without a report is estimated as %s', (_, body, bytes, outputTokens) => {
  expect(completeUsage(NO_USAGE, toCallSize(4001, body, 'chat'), bytes)).toMatchObject({
    inputTokens: 1001,
    outputTokens,
  })
})

it('an estimate keeps what was reported, and adds the output behind the report', () => {
  const reported = { ...NO_USAGE, inputTokens: 7, cacheReadTokens: 9000, outputTokens: 2 }
  expect(completeUsage(reported, toCallSize(4001, {}, 'chat'), 400)).toEqual({ ...reported, outputTokens: 102 })
})

it.each<[Partial<SpendingLimit>, string]>([
  [{}, 'limit of 10.00 USD a day for the team @acme/core'],
  [{ subject: 'members', period: 'week' }, 'limit of 10.00 USD a week for each member of @acme/core'],
  [{ subject: 'member', subjectName: 'ada@example.com' }, 'limit of 10.00 USD a day for ada@example.com'],
  [{ subject: 'member' }, 'limit of 10.00 USD a day for a former member'],
  [{ subject: 'key', subjectName: 'ci "x"' }, 'limit of 10.00 USD a day for the API key "ci \\"x\\""'],
  [{ subject: 'service_account', subjectName: 'builds' }, 'limit of 10.00 USD a day for the service account builds'],
])('messages describe the limit %j as %s', (given, expected) => {
  expect(describeLimit(limitOf(given))).toBe(expected)
})

it('admins are told about limits at 80 % and 100 %, of each member by itself', () => {
  const limits = [
    limitOf({ id: 'a', spent: spentBy('a', 7.99) }),
    limitOf({ id: 'b', spent: spentBy('b', 8) }),
    limitOf({ id: 'c', spent: spentBy('c', 10) }),
    limitOf({ id: 'd', subject: 'members', spent: new Map([...spentBy('d/ada', 9), ...spentBy('d/bob', 7)]) }),
  ]
  expect(findReached(limits).map(({ limit, accountId, percent }) => [limit.id, accountId, percent])).toEqual([
    ['b', null, 80],
    ['c', null, 100],
    ['d', 'ada', 80],
  ])
})

it.each([
  [0, '0.00'],
  [10_000_000, '0.01'],
  [1_234_567_890, '1.23'],
  [4_200_000, '0.0042'],
  [1, '0.000000001'],
  [57_600, '0.000058'],
])('%i nano USD are %s USD', (nano, usd) => {
  expect(writeUsd(nano)).toBe(usd)
})

it.each([
  ['50', 50e9, '50.00'],
  ['2.5', 2.5e9, '2.50'],
  ['0.000000001', 1, '0.000000001'],
  ['0012.3400', 12.34e9, '12.34'],
  ['1000000', 1e15, '1000000.00'],
])('reads %s USD as %i nano USD, and writes it as %s without loss', (text, nano, written) => {
  expect(readUsd(text)).toBe(nano)
  expect(writeExactUsd(nano)).toBe(written)
  expect(readUsd(written)).toBe(nano)
})

it.each([
  '',
  '0',
  '0.00',
  '-1',
  '+1',
  '1e3',
  '1,5',
  '.5',
  '1.',
  ' 1',
  '0.0000000001',
  '1000000.01',
  '99999999',
  '\u0661',
])('reads %j as no amount', (text) => {
  expect(readUsd(text)).toBeNull()
})
