/**
 * An agent's session is one run of an agent: the calls of one account in one team that carry the same session id. Its
 * events are rows that gateways write. Members of the team list the sessions, and follow the events of one: a follower
 * first gets the stored events behind its position, then each new one. The position is the id of an event. Ids become
 * visible in ascending order (src/gateway/usage/store.ts), so a follower that continues at its position misses nothing
 * and gets nothing twice, whichever process it continues at.
 */
import type { SessionEvent } from '../../../generated/openapi.ts'
import { isUuid } from '../../kernel/identifier.ts'
import { parseJson } from '../../kernel/json.ts'
import { withoutNulls } from '../../kernel/without-nulls.ts'

/** An event as it is stored. What only the end of a call has is null at its start. */
export type StoredEvent = {
  readonly id: bigint
  readonly kind: 'started' | 'retried' | 'finished' | 'failed'
  readonly at: Date
  readonly requestId: string
  readonly dialect: string
  readonly model: string
  readonly servedBy: string
  readonly attempts: string | null
  readonly outcome: string | null
  readonly status: number | null
  readonly firstByteMs: number | null
  readonly durationMs: number | null
  /** All tokens of the prompt. */
  readonly inputTokens: number | null
  readonly cachedTokens: number | null
  readonly outputTokens: number | null
  readonly reasoningTokens: number | null
  readonly costNanoUsd: number | null
}

/** How the events of a stream are written. */
export type StreamFormat = {
  readonly mediaType: 'application/x-ndjson' | 'text/event-stream'
  /** What a stream begins with. */
  readonly head: string
  writeEvent(event: SessionEvent): string
}

export const NDJSON: StreamFormat = {
  mediaType: 'application/x-ndjson',
  head: '',
  writeEvent: (event) => `${JSON.stringify(event)}\n`,
}

/** WHATWG HTML, section 9.2. The head tells browsers to reconnect after a second. */
export const EVENT_STREAM: StreamFormat = {
  mediaType: 'text/event-stream',
  head: 'retry: 1000\n\n',
  writeEvent: (event) =>
    event.type === 'heartbeat'
      ? ': heartbeat\n\n'
      : `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
}

/** An event for members of the team: without account and device, and without the fields that are not known. */
export function toSessionEvent(event: StoredEvent): SessionEvent {
  const { id, kind, at, requestId, model, dialect, servedBy } = event
  const started = { id: String(id), at: at.toISOString(), requestId, model, dialect, servedBy }
  if (kind === 'started') return { ...started, type: 'call.started' }
  const { attempts, status, outcome, firstByteMs, durationMs, costNanoUsd } = event
  const { inputTokens, cachedTokens, outputTokens, reasoningTokens } = event
  return {
    ...started,
    type: `call.${kind}`,
    ...withoutNulls({ attempts, status, outcome, firstByteMs, durationMs, costNanoUsd }),
    tokens: withoutNulls({
      input: inputTokens,
      cached: cachedTokens,
      output: outputTokens,
      reasoning: reasoningTokens,
    }),
  }
}

/** Says that everything up to a position was sent. */
export function toHeartbeat(position: bigint, now: Date): SessionEvent {
  return { id: String(position), type: 'heartbeat', at: now.toISOString() }
}

/** The position to continue behind: the greater one of the two, or the beginning. */
export function choosePosition(after: string | undefined, lastEventId: string | undefined): bigint {
  const [one, other] = [BigInt(after ?? 0), BigInt(lastEventId ?? 0)]
  return one > other ? one : other
}

/** Where a page of the list of sessions ends: at this session. */
export type SessionCursor = { readonly lastActiveAt: Date; readonly accountId: string; readonly sessionId: string }

/** Writes where a page ends, for `readSessionCursor`. */
export function writeSessionCursor({ lastActiveAt, accountId, sessionId }: SessionCursor): string {
  return Buffer.from(JSON.stringify([lastActiveAt.getTime(), accountId, sessionId])).toString('base64url')
}

const SESSION_ID = /^[\x21-\x7e]{1,256}$/

/** Reads where a page ends; null when the text is not what `writeSessionCursor` writes. */
export function readSessionCursor(text: string): SessionCursor | null {
  const [time, accountId, sessionId] = parseList(Buffer.from(text, 'base64url').toString())
  const lastActiveAt = new Date(typeof time === 'number' ? time : NaN)
  if (!(lastActiveAt.getTime() >= 0) || lastActiveAt.getUTCFullYear() > 9999) return null
  if (typeof accountId !== 'string' || !isUuid(accountId)) return null
  return typeof sessionId === 'string' && SESSION_ID.test(sessionId) ? { lastActiveAt, accountId, sessionId } : null
}

function parseList(text: string): readonly unknown[] {
  const value = parseJson(text)
  return Array.isArray(value) ? value : []
}
