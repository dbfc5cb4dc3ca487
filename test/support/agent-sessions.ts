import { randomUUID } from 'node:crypto'
import type { SessionEvent } from '../../generated/sdk/index.js'
import { NO_USAGE } from '../../src/gateway/dialects/tokens/usage.ts'
import type { CallEvent } from '../../src/gateway/usage/events.ts'
import { makeCallEventStore } from '../../src/gateway/usage/store.ts'
import type { AgentSession } from '../../src/kernel/agent-session.ts'
import type { Caller } from '../../src/kernel/caller.ts'
import { checkEvent } from './contract/contract-check.ts'
import type { TestService } from './service.ts'
import { withDeadline } from './wait.ts'

const DEVICE_SESSION = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'

type Facts = { readonly at?: Date; readonly model?: string; readonly requestId?: string; readonly service?: string }

/** An event of a call of a session. A result has 100 tokens of input, of which 40 were cached, and 20 of output. It cost $0.0012. */
export function eventOf(
  kind: CallEvent['kind'],
  { team, accountId, sessionId }: AgentSession,
  { at = new Date('2026-11-21T09:00:30Z'), model = 'svc/fast', requestId = 'req_1', service }: Facts = {},
): CallEvent {
  const key = service === undefined ? {} : { key: { id: DEVICE_SESSION, models: null, serviceAccount: service } }
  // Events keep only these members of a caller.
  const caller = { team, accountId, sessionId: DEVICE_SESSION, sessionKind: 'device', ...key } as unknown as Caller
  const call = { requestId, caller, sessionId, dialect: 'chat', model, servedBy: 'local-engine' } as const
  if (kind === 'started') return { kind, at, call, result: null }
  const usage = { ...NO_USAGE, inputTokens: 60, cacheReadTokens: 40, outputTokens: 20 }
  const attempts = [{ backend: 'local-engine', result: '200' }]
  const status = kind === 'finished' ? 200 : null
  const result = { attempts, outcome: 'whole', isSent: true, status, firstByteMs: 12, durationMs: 250, usage } as const
  return {
    kind,
    at,
    call,
    result: { ...result, isEstimated: false, costNanoUsd: 1_200_000, spent: { day: '2026-11-21', nanoUsd: 1_200_000 } },
  }
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
