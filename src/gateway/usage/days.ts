/** What calls used, summed by day. The sums are saved with the events, and outlive them. */
import { DAY_MS } from '../../kernel/durations.ts'
import { toIsoDay } from '../../kernel/formats/utc-text.ts'
import { NO_KEY } from '../../spending/rules.ts'
import { hasUnknownUsage, isUnpriced } from './events.ts'
import type { CallEvent, EndedCallEvent } from './events.ts'

type Key = { readonly name: string; readonly type: string; readonly of: (event: EndedCallEvent) => string }

type Counter = {
  readonly name: string
  readonly type: 'int' | 'bigint'
  readonly of: (event: EndedCallEvent) => number | null
}

/** The columns that identify a sum. */
export const DAY_KEYS = [
  { name: 'team', type: 'text', of: ({ call }) => call.caller.team },
  { name: 'day', type: 'date', of: ({ at }) => toIsoDay(at) },
  { name: 'account_id', type: 'uuid', of: ({ call }) => call.caller.accountId },
  { name: 'key_id', type: 'uuid', of: ({ call }) => call.caller.key?.id ?? NO_KEY },
  { name: 'model', type: 'text', of: ({ call }) => call.model },
  { name: 'backend', type: 'text', of: ({ call }) => call.servedBy },
  { name: 'dialect', type: '"Dialect"', of: ({ call }) => call.dialect },
] as const satisfies readonly Key[]

/** The columns that are added up. */
export const DAY_COUNTERS = [
  { name: 'calls', type: 'int', of: ({ kind }) => Number(kind !== 'retried') },
  { name: 'failed_calls', type: 'int', of: ({ kind }) => Number(kind === 'failed') },
  { name: 'unknown_calls', type: 'int', of: ({ result }) => Number(hasUnknownUsage(result)) },
  { name: 'estimated_calls', type: 'int', of: ({ result }) => Number(result.isEstimated) },
  { name: 'priced_calls', type: 'int', of: ({ result }) => Number(result.costNanoUsd !== null) },
  { name: 'unpriced_calls', type: 'int', of: ({ result }) => Number(isUnpriced(result)) },
  { name: 'input_tokens', type: 'bigint', of: ({ result }) => result.usage.inputTokens },
  { name: 'cache_read_tokens', type: 'bigint', of: ({ result }) => result.usage.cacheReadTokens },
  { name: 'cache_write_tokens', type: 'bigint', of: ({ result }) => result.usage.cacheWriteTokens },
  { name: 'cache_write_long_tokens', type: 'bigint', of: ({ result }) => result.usage.cacheWriteLongTokens },
  { name: 'output_tokens', type: 'bigint', of: ({ result }) => result.usage.outputTokens },
  { name: 'reasoning_tokens', type: 'bigint', of: ({ result }) => result.usage.reasoningTokens },
  { name: 'cost_nano_usd', type: 'bigint', of: ({ result }) => result.costNanoUsd },
] as const satisfies readonly Counter[]

/** One sum: the values of `DAY_KEYS` and of `DAY_COUNTERS`, in their order. */
export type DaySum = { readonly keys: readonly string[]; readonly counts: readonly number[] }

/** Sums events by their keys. */
export function sumByDay(events: readonly CallEvent[]): DaySum[] {
  const sums = new Map<string, { keys: string[]; counts: number[] }>()
  for (const event of events) {
    if (event.result === null) continue
    const id = identify(event)
    const sum = sums.get(id) ?? { keys: DAY_KEYS.map(({ of }) => of(event)), counts: DAY_COUNTERS.map(() => 0) }
    sums.set(id, sum)
    add(sum.counts, event)
  }
  return [...sums.values()]
}

/** One text for all keys. It is made for each call, so the day is a number: writing a date costs more than the rest. */
function identify({ at, call: { caller, model, servedBy, dialect } }: EndedCallEvent): string {
  const day = Math.floor(at.getTime() / DAY_MS)
  return [day, caller.team, caller.accountId, caller.key?.id, model, servedBy, dialect].join('\n')
}

function add(counts: number[], event: EndedCallEvent): void {
  DAY_COUNTERS.forEach(({ of }, at) => {
    counts[at] = (counts[at] ?? 0) + (of(event) ?? 0)
  })
}
