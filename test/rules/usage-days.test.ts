import { describe, expect, it } from 'vitest'
import { DAY_COUNTERS, DAY_KEYS, sumByDay } from '../../src/gateway/usage/days.ts'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { endedCall } from '../support/call-events.ts'

/** Sums by the names of their columns, without counters that are zero. */
function named(events: readonly CallEvent[]): Record<string, string | number>[] {
  return sumByDay(events).map(({ keys, counts }) =>
    Object.fromEntries([
      ...DAY_KEYS.map(({ name }, at) => [name, keys[at] ?? ''] as const),
      ...DAY_COUNTERS.map(({ name }, at) => [name, counts[at] ?? 0] as const).filter(([, count]) => count !== 0),
    ]),
  )
}
/** The counters of one call that are not zero. */
const counted = (given: Parameters<typeof endedCall>[0]) => {
  const names: readonly string[] = DAY_KEYS.map(({ name }) => name)
  return Object.fromEntries(
    Object.entries(named([endedCall(given)])[0] ?? {}).filter(([name]) => !names.includes(name)),
  )
}

const usage = { inputTokens: 1, cacheReadTokens: 2, cacheWriteTokens: 3, cacheWriteLongTokens: 4, outputTokens: 5 }

describe('the sums of a day', () => {
  it('are of one team, day, account, key, model, backend and dialect', () => {
    const key = { id: '01939c1e-0000-7c3d-8e4f-0a1b2c3d4e5f', models: null, serviceAccount: null }
    const call = { usage: { inputTokens: 1 } }
    const sums = named([
      endedCall(call),
      endedCall(call),
      endedCall({ ...call, team: '@acme/other' }),
      endedCall({ ...call, at: '2026-11-21T23:59:59.999Z' }),
      endedCall({ ...call, at: '2026-11-22T00:00:00Z' }),
      endedCall({ ...call, accountId: '01939c1e-1111-7c3d-8e4f-0a1b2c3d4e5f' }),
      endedCall({ ...call, key }),
      endedCall({ ...call, call: { model: 'svc/fast' } }),
      endedCall({ ...call, call: { servedBy: 'vendorb' } }),
      endedCall({ ...call, call: { dialect: 'messages' } }),
    ])
    expect(sums.map(({ calls, input_tokens: input }) => [calls, input])).toEqual([
      [3, 3],
      ...Array.from({ length: 7 }, () => [1, 1]),
    ])
    expect(sums[0]).toEqual({
      team: '@acme/core',
      day: '2026-11-21',
      account_id: '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f',
      key_id: '00000000-0000-0000-0000-000000000000',
      model: 'vendora/large',
      backend: 'vendora',
      dialect: 'chat',
      calls: 3,
      unpriced_calls: 3,
      input_tokens: 3,
    })
    expect(sums.map((sum) => sum['key_id'])).toContain(key.id)
  })

  it.each<[string, Parameters<typeof endedCall>[0], object]>([
    [
      'each class of tokens, and the cost',
      { usage: { ...usage, reasoningTokens: 2 }, result: { costNanoUsd: 7 } },
      {
        calls: 1,
        priced_calls: 1,
        input_tokens: 1,
        cache_read_tokens: 2,
        cache_write_tokens: 3,
        cache_write_long_tokens: 4,
        output_tokens: 5,
        reasoning_tokens: 2,
        cost_nano_usd: 7,
      },
    ],
    [
      'a call that cost nothing as priced',
      { usage: { inputTokens: 0 }, result: { costNanoUsd: 0 } },
      { calls: 1, priced_calls: 1 },
    ],
    [
      'a cut call as failed and estimated',
      { kind: 'failed', usage: { inputTokens: 1 }, result: { outcome: 'cut', isEstimated: true } },
      { calls: 1, failed_calls: 1, estimated_calls: 1, unpriced_calls: 1, input_tokens: 1 },
    ],
    ['an answer without numbers as unknown', {}, { calls: 1, unknown_calls: 1 }],
    [
      'a caller that left before the answer as unknown',
      { kind: 'failed', result: { outcome: 'left', status: null } },
      { calls: 1, failed_calls: 1, unknown_calls: 1 },
    ],
    [
      'a caller that left before the call was sent as no usage',
      { kind: 'failed', result: { outcome: 'left', isSent: false, status: null } },
      { calls: 1, failed_calls: 1 },
    ],
    [
      'a backend that could not be reached as no usage',
      { kind: 'failed', result: { outcome: 'unreachable', isSent: false, status: null } },
      { calls: 1, failed_calls: 1 },
    ],
    ['an error of the backend as no usage', { kind: 'failed', result: { status: 429 } }, { calls: 1, failed_calls: 1 }],
    [
      'an earlier attempt by its tokens, and not as a call',
      { kind: 'retried', usage: { inputTokens: 1 }, result: { costNanoUsd: 7 } },
      { priced_calls: 1, input_tokens: 1, cost_nano_usd: 7 },
    ],
  ])('count %s', (_, given, expected) => {
    expect(counted(given)).toEqual(expected)
  })

  it('do not include calls that are still running', () => {
    const { call, at } = endedCall()
    expect(sumByDay([{ kind: 'started', at, call, result: null }])).toEqual([])
  })
})
