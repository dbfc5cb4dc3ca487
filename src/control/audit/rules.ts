/**
 * The audit log has a row for each change, written in the same transaction as the change. Admins of a team read the
 * rows of their team. A row names the account that it is about; the author of the change is that account itself, an
 * admin, or the directory file.
 */
import type { AuditEvent } from '../../../generated/openapi.ts'
import type { TimeCursor } from '../paging.ts'

/** A row as it is read, with the addresses of its accounts. */
export type AuditRow = {
  readonly id: string
  readonly at: Date
  readonly kind: string
  /** Null: the directory file. */
  readonly actorId: string | null
  readonly actorEmail: string | null
  /** The address of the account that the row is about. */
  readonly personEmail: string | null
  readonly subjectId: string | null
  readonly ip: string | null
  readonly details: Readonly<Record<string, unknown>>
}

/** Converts a row to the contract's event. */
export function toAuditEvent(row: AuditRow): AuditEvent {
  // The author is a field of its own.
  const { by: _by, adminId: _adminId, ...details } = row.details
  const { id, kind: action, actorId, actorEmail: email, subjectId, ip } = row
  const actor = { kind: actorId === null ? 'file' : 'account', id: actorId, email } as const
  return { id, at: row.at.toISOString(), action, actor, subject: subjectOf(row), subjectId, ip, details }
}

/** What was changed, for people: the address of another person, or the name of what was changed. */
function subjectOf({ personEmail, actorEmail, details }: AuditRow): string | null {
  if (personEmail !== null && personEmail !== actorEmail) return personEmail
  const name = details['name'] ?? details['team']
  return typeof name === 'string' ? name : null
}

/** Writes where a page ends, for `readAuditCursor`. */
export function writeAuditCursor({ at, id }: TimeCursor): string {
  return `${at.getTime()}-${id}`
}

/** Reads where a page ends; null when the text is not what `writeAuditCursor` writes. */
export function readAuditCursor(text: string): TimeCursor | null {
  const [, time, id] = /^(\d{1,14})-(\d{1,18})$/.exec(text) ?? []
  return time === undefined || id === undefined ? null : { at: new Date(Number(time)), id }
}
