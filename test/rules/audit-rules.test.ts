import { describe, expect, it } from 'vitest'
import { readAuditCursor, toAuditEvent, writeAuditCursor } from '../../src/control/audit/rules.ts'
import type { AuditRow } from '../../src/control/audit/rules.ts'

const at = new Date('2026-11-21T09:00:00.123Z')
const row: AuditRow = {
  id: '41',
  at,
  kind: 'invitation.created',
  actorId: 'account-1',
  actorEmail: 'ada@example.com',
  personEmail: 'grace@example.com',
  subjectId: 'invitation-1',
  ip: '192.0.2.7',
  details: { role: 'member', by: 'admin', adminId: 'account-1' },
}

describe('toAuditEvent', () => {
  it('names the author and the person that was changed', () => {
    expect(toAuditEvent(row)).toEqual({
      id: '41',
      at: '2026-11-21T09:00:00.123Z',
      action: 'invitation.created',
      actor: { kind: 'account', id: 'account-1', email: 'ada@example.com' },
      subject: 'grace@example.com',
      subjectId: 'invitation-1',
      ip: '192.0.2.7',
      details: { role: 'member' },
    })
  })

  it.each([
    ['the directory file', { actorId: null, actorEmail: null, details: { by: 'directory' } }, 'grace@example.com'],
    ['what the author named', { personEmail: 'ada@example.com', details: { name: 'builds' } }, 'builds'],
    ['a team', { actorId: null, actorEmail: null, personEmail: null, details: { team: '@acme/core' } }, '@acme/core'],
    ['a change without a name', { personEmail: 'ada@example.com', details: { reason: 'logout' } }, null],
  ])('tells the subject: %s', (_name, fields, subject) => {
    const event = toAuditEvent({ ...row, ...fields })
    expect(event.subject).toBe(subject)
    expect(event.actor.kind).toBe(event.actor.id === null ? 'file' : 'account')
  })
})

describe('readAuditCursor', () => {
  it('reads what writeAuditCursor writes, and nothing else', () => {
    expect(readAuditCursor(writeAuditCursor({ at, id: '41' }))).toEqual({ at, id: '41' })
    for (const text of ['', '-', '1', '1-', 'x-1', '1-1-1', '1-1 ', `${'9'.repeat(15)}-1`]) {
      expect([text, readAuditCursor(text)]).toEqual([text, null])
    }
  })
})
