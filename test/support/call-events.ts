import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import type { Usage } from '../../src/gateway/dialects/tokens/usage.ts'
import type { CallEvent, CallFacts, CallResult } from '../../src/gateway/usage/events.ts'
import type { Caller, CallerKey } from '../../src/kernel/caller.ts'

const ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'

export type GivenCall = {
  readonly kind?: 'finished' | 'failed' | 'retried'
  readonly at?: string
  readonly accountId?: string
  readonly team?: string
  readonly key?: CallerKey
  readonly call?: Partial<Omit<CallFacts, 'caller'>>
  readonly usage?: Partial<Usage>
  readonly result?: Partial<Omit<CallResult, 'usage'>>
}

/** The end of a call, as a gateway records it. */
export function endedCall({
  kind = 'finished',
  at,
  accountId,
  team,
  key,
  call,
  usage,
  result,
}: GivenCall = {}): CallEvent {
  const caller: Caller = {
    accountId: accountId ?? ID,
    sessionId: ID,
    sessionKind: key ? 'api_key' : 'device',
    ...(key && { key }),
    organization: 'acme',
    team: team ?? '@acme/core',
    role: 'member',
    authenticatedAt: null,
  }
  const facts = {
    requestId: 'req_1',
    sessionId: null,
    dialect: 'chat',
    model: 'vendora/large',
    servedBy: 'vendora',
  } as const
  return {
    kind,
    at: new Date(at ?? '2026-11-21T10:00:00Z'),
    call: { ...facts, caller, ...call },
    result: {
      attempts: [],
      outcome: 'whole',
      isSent: true,
      status: 200,
      firstByteMs: 1,
      durationMs: 2,
      isEstimated: false,
      costNanoUsd: null,
      spent: { day: (at ?? '2026-11-21').slice(0, 10), nanoUsd: result?.costNanoUsd ?? 0 },
      ...result,
      usage: { ...NO_USAGE, ...usage },
    },
  }
}
