import { randomUUID } from 'node:crypto'
import type { SessionEvent } from '../../generated/sdk/index.js'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import type { AgentSession } from '../../src/kernel/agent-session.ts'
import { endedCall } from './call-events.ts'
import { checkEvent } from './contract/contract-check.ts'
import type { TestService } from './service.ts'
import { withDeadline } from './wait.ts'

type Facts = { readonly at?: Date; readonly model?: string; readonly requestId?: string; readonly service?: string }

/**
 * An event of a call of a session. A result has 100 tokens of input, of which 40 were cached, and 20 of output. It cost
 * $0.0012.
 */
export function eventOf(
  kind: CallEvent['kind'],
  { team, accountId, sessionId }: AgentSession,
  { at = new Date('2026-11-21T09:00:30Z'), model = 'svc/fast', requestId = 'req_1', service }: Facts = {},
): CallEvent {
  const ended = endedCall({
    ...(kind !== 'started' && { kind }),
    at: at.toISOString(),
    accountId,
    team,
    ...(service !== undefined && { key: { id: randomUUID(), models: null, serviceAccount: service } }),
    call: { requestId, sessionId, model, servedBy: 'local-engine' },
    usage: { inputTokens: 60, cacheReadTokens: 40, outputTokens: 20 },
    result: {
      attempts: [{ backend: 'local-engine', result: '200' }],
      status: kind === 'finished' ? 200 : null,
      firstByteMs: 12,
      durationMs: 250,
      costNanoUsd: 1_200_000,
    },
  })
  return kind === 'started' ? { ...ended, kind, result: null } : ended
}

/** Saves events as a gateway does. */
export function saveEvents({ database }: Pick<TestService, 'database'>, ...events: CallEvent[]): Promise<void> {
  return makeCallEventStore(database).save({ id: randomUUID(), events })
}

/** The id of the account with an address. */
export async function accountIdOf({ database }: Pick<TestService, 'database'>, email: string): Promise<string> {
  return (await database.prisma.account.findUniqueOrThrow({ where: { email } })).id
}

export type Followed = AsyncDisposable & {
  /** The next event; null when the stream has ended, and an error when it broke. */
  next(): Promise<SessionEvent | null>
  /** The ids of the events up to the next heartbeat, which is left out. */
  untilCurrent(): Promise<string[]>
}

/** Reads a stream of JSON lines. */
export function readFollowed(response: Response): Followed {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (!response.ok || !reader) throw new Error(`The stream was refused with ${response.status}.`)
  let text = ''
  async function next(): Promise<SessionEvent | null> {
    while (!text.includes('\n')) {
      const read = await withDeadline('an event of the stream', reader?.read() ?? Promise.reject(new Error('No body.')))
      if (read.done) return null
      text += read.value
    }
    const end = text.indexOf('\n')
    const line = text.slice(0, end)
    text = text.slice(end + 1)
    const event = JSON.parse(line) as SessionEvent
    checkEvent('GET', new URL(response.url), response, event)
    return event
  }
  return {
    next,
    async untilCurrent() {
      const ids: string[] = []
      for (;;) {
        const event = await next()
        if (event === null || event.type === 'heartbeat') return ids
        ids.push(event.id)
      }
    },
    async [Symbol.asyncDispose]() {
      await reader.cancel().catch(() => undefined)
    },
  }
}
