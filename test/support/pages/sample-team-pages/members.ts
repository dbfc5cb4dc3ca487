import { auditPage } from '../../../../src/control/console/audit-page.ts'
import { teamDevicesPage } from '../../../../src/control/console/devices/devices-page.ts'
import { membersPage } from '../../../../src/control/console/members/members-page.ts'
import { sessionsPage } from '../../../../src/control/console/sessions-page.ts'
import type { Words } from '../sample-pages.ts'
import type { Sample, Viewers } from './viewers.ts'

/** The members of a team, their devices and sessions, and its audit events. */
export function sampleMemberPages(words: Words, { admin, member }: Viewers): Sample[] {
  const page = { members: members(words), after: words.email, hasEmail: true, now: AT }
  return [
    ['team-sessions', sessionsPage(admin, { sessions: sessions(words), isFirst: false, next: 'WzFd' })],
    ['team-sessions-empty', sessionsPage(member, { sessions: [], isFirst: true, next: null })],
    ['team-members', membersPage(admin, { ...page, next: words.email, fresh: true, notice: 'invited', draft: null })],
    [
      'team-members-stale',
      membersPage(admin, {
        ...page,
        next: null,
        fresh: false,
        notice: 'invalid_email',
        draft: { action: 'invite', email: words.email },
      }),
    ],
    ['team-devices', teamDevicesPage(admin, { devices: devices(words), before: null, next: null, notice: null })],
    ['team-audit', auditPage(admin, { events: events(words), isFirst: true, next: '1-1' })],
  ]
}

function sessions(words: Words) {
  const session = {
    accountId: '1',
    sessionId: '0197a2c4-3f2b-7c11-9a7e-5d0c2b1a9f88',
    account: words.email,
    model: 'vendorb/writer',
    calls: 42,
    failedCalls: 1,
    runningCalls: 1,
    inputTokens: 1_204_120n,
    outputTokens: 20_480n,
    startedAt: new Date('2026-11-21T08:00:00Z'),
    lastActiveAt: new Date('2026-11-21T08:59:00Z'),
  }
  return [session, { ...session, sessionId: words.deviceName, runningCalls: 0 }]
}

const AT = new Date('2026-11-21T08:59:00Z')

function members(words: Words) {
  const member = { id: 'm1', email: words.email, role: 'admin', source: 'directory', invitedAt: AT } as const
  return [
    { ...member, devices: 2, lastSeenAt: AT },
    { ...member, id: 'm2', email: 'grace@example.com', role: 'member', source: 'admin', devices: 0, lastSeenAt: null },
  ] as const
}

function devices(words: Words) {
  const device = {
    kind: 'device',
    id: 'd1',
    email: words.email,
    firstSeenAt: AT,
    lastSeenAt: AT,
    lastIp: words.ip,
  } as const
  return [
    { ...device, deviceName: words.deviceName },
    { ...device, id: 'd2', kind: 'browser', deviceName: words.otherDeviceName },
  ] as const
}

function events(words: Words) {
  const event = { id: '1', at: AT.toISOString(), subjectId: 'm2', ip: words.ip }
  const ada = { kind: 'account', id: 'm1', email: words.email } as const
  return [
    {
      ...event,
      action: 'api_key.created',
      actor: ada,
      subject: words.passkeyName,
      details: { name: words.deviceName },
    },
    {
      ...event,
      action: 'invitation.changed',
      actor: { kind: 'file', id: null, email: null } as const,
      subject: words.email,
      ip: null,
      details: { role: 'admin', previousRole: 'member' },
    },
  ]
}
