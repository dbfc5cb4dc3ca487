import type { AgentSession } from '../../kernel/agent-session.ts'
import { sessionKeyOf } from '../../kernel/agent-session.ts'
import { MINUTE_MS } from '../../kernel/durations.ts'
import { promptTokensOf } from '../dialects/tokens/usage.ts'
import type { CallEvent } from './events.ts'

/** What the events of a batch add to one session. */
export type SessionSum = AgentSession & {
  readonly key: string
  /** `service:NAME`; null for a person. */
  readonly serviceAccount: string | null
  readonly startedAt: Date
  /** To the minute. */
  readonly lastActiveAt: Date
  /** The model of the last call. */
  readonly model: string
  readonly calls: number
  readonly failedCalls: number
  /** All tokens of the prompts. */
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Adds events up by session. Events of calls without a session are left out. */
export function sumBySession(events: readonly CallEvent[]): readonly SessionSum[] {
  const sums = new Map<string, SessionSum>()
  for (const event of events) {
    const { caller, sessionId } = event.call
    if (sessionId === null) continue
    const session = { team: caller.team, accountId: caller.accountId, sessionId }
    const key = sessionKeyOf(session)
    sums.set(key, addEvent(sums.get(key) ?? beginSum(session, key, event), event))
  }
  return [...sums.values()]
}

function beginSum(session: AgentSession, key: string, { at, call }: CallEvent): SessionSum {
  const none = { calls: 0, failedCalls: 0, inputTokens: 0, outputTokens: 0 }
  const serviceAccount = call.caller.key?.serviceAccount ?? null
  return { ...session, key, serviceAccount, startedAt: at, lastActiveAt: toMinute(at), model: call.model, ...none }
}

function addEvent(sum: SessionSum, { kind, at, call, result }: CallEvent): SessionSum {
  return {
    ...sum,
    lastActiveAt: toMinute(at),
    model: call.model,
    calls: sum.calls + (kind === 'finished' || kind === 'failed' ? 1 : 0),
    failedCalls: sum.failedCalls + (kind === 'failed' ? 1 : 0),
    inputTokens: sum.inputTokens + (result ? promptTokensOf(result.usage) : 0),
    outputTokens: sum.outputTokens + (result?.usage.outputTokens ?? 0),
  }
}

function toMinute(time: Date): Date {
  return new Date(Math.floor(time.getTime() / MINUTE_MS) * MINUTE_MS)
}
