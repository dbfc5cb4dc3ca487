import { hash } from 'node:crypto'

/** A run of an agent. Its client chose the id, so two accounts may use the same one. */
export type AgentSession = {
  /** `@organization/name`. */
  readonly team: string
  readonly accountId: string
  readonly sessionId: string
}

/** The channel of the database on which writers of events announce the sessions that have new ones. */
export const SESSIONS_CHANNEL = 'svc_agent_sessions'

/** The longest payload of a notification is 7,999 bytes (PostgreSQL, NOTIFY). */
const MAX_NOTICE_BYTES = 7999

/** Stands for all sessions. */
const ALL = '*'

/** A short name of a session. Two sessions practically never share one, and if they did, both would be read. */
export function sessionKeyOf({ team, accountId, sessionId }: AgentSession): string {
  return hash('sha256', JSON.stringify([team, accountId, sessionId]), 'base64url').slice(0, 12)
}

/** The payload that announces these sessions; when it would be too long, it announces all. */
export function writeNotice(keys: readonly string[]): string {
  const text = keys.join(' ')
  return text.length > MAX_NOTICE_BYTES ? ALL : text
}

/** The keys of the sessions that a payload announces; null: all sessions. */
export function readNotice(payload: string): readonly string[] | null {
  return payload === ALL ? null : payload.split(' ').filter((key) => key !== '')
}
