import type { components } from '../../generated/openapi.ts'
import { auditPage } from '../../src/control/console/audit-page.ts'
import { teamDevicesPage } from '../../src/control/console/devices/devices-page.ts'
import type { FramedViewer } from '../../src/control/console/frame.ts'
import { teamKeysPage } from '../../src/control/console/keys/keys-page.ts'
import type { TeamKeysPage } from '../../src/control/console/keys/keys-page.ts'
import { limitsPage } from '../../src/control/console/limits/limits-page.ts'
import { membersPage } from '../../src/control/console/members/members-page.ts'
import { NO_OUTCOME } from '../../src/control/console/models/models-outcome.ts'
import { modelsPage } from '../../src/control/console/models/models-page.ts'
import type { ModelsPage } from '../../src/control/console/models/models-page.ts'
import type { Overview } from '../../src/control/console/overview/find-overview.ts'
import { overviewPage } from '../../src/control/console/overview/overview-page.ts'
import { sessionsPage } from '../../src/control/console/sessions-page.ts'
import { usagePage } from '../../src/control/console/usage/usage-page.ts'
import type { UsageRow, UsageSums } from '../../src/control/usage/report.ts'
import type { FoundSums } from '../../src/control/usage/store.ts'
import type { Html } from '../../src/http/page.ts'
import { Secret } from '../../src/kernel/secret.ts'
import { sampleLimits, sampleLimitsPage } from './sample-limits.ts'
import type { Words } from './sample-pages.ts'

type TeamBackendList = components['schemas']['TeamBackendList']

type Sample = [name: string, page: Html]

const MONTH = { from: '2026-11-01', to: '2026-11-21' }

/** The pages of a team, filled with these texts. */
export function sampleTeamPages(words: Words): Sample[] {
  const admin = viewerOf(words, 'admin')
  const member = viewerOf(words, 'member')
  const models = sumsOf([
    rowOf({ id: 'vendorb/writer', calls: 1200, failedCalls: 14, costNanoUsd: 148_230_000_000 }),
    rowOf({ id: words.otherDeviceName, calls: 90, costNanoUsd: 4_200_000 }),
    rowOf({ id: 'svc/fast', calls: 310_420, costNanoUsd: null }),
  ])
  const people = sumsOf([
    rowOf({ id: '1', name: words.email, calls: 2, costNanoUsd: 90_000_000_000 }),
    rowOf({ id: '2', name: null, calls: 1, costNanoUsd: 0 }),
  ])
  const period = { period: MONTH, today: '2026-11-21' }
  const nothing = sumsOf([])
  const none: Overview = {
    isOfTeam: false,
    period: MONTH,
    days: nothing,
    models: nothing,
    people: null,
    slowest: [],
    limits: [],
  }
  return [
    [
      'team-overview',
      overviewPage(admin, {
        isOfTeam: true,
        period: MONTH,
        days: days(),
        models,
        people,
        slowest: slowest(words),
        limits: sampleLimits(words),
      }),
    ],
    ['team-overview-empty', overviewPage(member, none)],
    ['team-usage', usagePage(admin, { ...period, by: 'member', sums: people, days: days(), mistake: null })],
    [
      'team-usage-mistake',
      usagePage(member, { ...period, by: 'day', sums: nothing, days: nothing, mistake: 'from must not be after to.' }),
    ],
    ['team-limits', limitsPage(admin, sampleLimitsPage(words))],
    [
      'team-limits-member',
      limitsPage(member, { ...sampleLimitsPage(words), choices: null, notice: null, draft: null }),
    ],
    ['team-limits-empty', limitsPage(member, { limits: [], choices: null, notice: null, draft: null })],
    [
      'team-models',
      modelsPage(admin, {
        models: teamModels(words),
        defaultModel: 'svc/fast',
        defaultModelSource: 'admin',
        admin: { ...teamBackends(words), fresh: true },
        notice: 'backend_invalid',
        detail: 'url: must be an https:// URL.',
        draft: { action: 'add-backend', backend: words.deviceName, url: 'http://vendor.example', messages: '1' },
      }),
    ],
    [
      'team-models-member',
      modelsPage(member, {
        models: teamModels(words),
        defaultModel: null,
        defaultModelSource: null,
        admin: null,
        ...NO_OUTCOME,
      }),
    ],
    ['team-sessions', sessionsPage(admin, { sessions: sessions(words), next: 'WzFd' })],
    [
      'team-members',
      membersPage(admin, { members: members(words), next: words.email, fresh: true, notice: 'invited' }),
    ],
    ['team-members-stale', membersPage(admin, { members: members(words), next: null, fresh: false, notice: 'listed' })],
    ['team-devices', teamDevicesPage(admin, { devices: devices(words), next: null, notice: null })],
    ['team-keys', teamKeysPage(admin, keysOf(words))],
    ['team-keys-empty', teamKeysPage(admin, { ...keysOf(words), accounts: [], fresh: false, madeKey: null })],
    ['team-audit', auditPage(admin, { events: events(words), next: '1-1' })],
    ['team-sessions-empty', sessionsPage(member, { sessions: [], next: null })],
  ]
}

function viewerOf({ email, team }: Words, role: 'admin' | 'member'): FramedViewer {
  return { email, team, role, path: '/teams/acme/core', others: [{ team: '@acme/other', path: '/teams/acme/other' }] }
}

const NO_SUMS: UsageSums = {
  calls: 0,
  failedCalls: 0,
  unknownCalls: 0,
  estimatedCalls: 0,
  unpricedCalls: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: null,
}

function rowOf(given: Partial<UsageRow>): UsageRow {
  return { ...NO_SUMS, id: null, name: null, inputTokens: 4_120_300, cacheReadTokens: 90_120, ...given }
}

function sumsOf(rows: readonly UsageRow[]): FoundSums {
  const total = rows.reduce<UsageSums>(
    (sums, row) => ({
      ...sums,
      calls: sums.calls + row.calls,
      failedCalls: sums.failedCalls + row.failedCalls,
      inputTokens: sums.inputTokens + row.inputTokens,
      outputTokens: sums.outputTokens + row.outputTokens,
      costNanoUsd: row.costNanoUsd === null ? sums.costNanoUsd : (sums.costNanoUsd ?? 0) + row.costNanoUsd,
    }),
    NO_SUMS,
  )
  return { rows: [...rows], isTruncated: false, total }
}

function days(): FoundSums {
  return sumsOf(
    Array.from({ length: 21 }, (_, index) =>
      rowOf({
        id: `2026-11-${String(index + 1).padStart(2, '0')}`,
        calls: 400 + index * 37,
        failedCalls: index % 5,
        outputTokens: 81_234,
        // Weekends are quiet.
        costNanoUsd: index % 7 === 0 ? 0 : 3_000_000_000 + ((index * 7919) % 11) * 1_100_000_000,
      }),
    ),
  )
}

function slowest(words: Words): Overview['slowest'] {
  return [
    { model: 'vendorb/writer', calls: 1200, firstByteMs: 840, durationMs: 21_300, slowDurationMs: 92_000 },
    { model: words.otherDeviceName, calls: 9, firstByteMs: 120, durationMs: 940, slowDurationMs: 1300 },
  ]
}

function teamModels(words: Words): ModelsPage['models'] {
  const model = { source: 'file', contextWindow: null, published: true, usable: true } as const
  const serve = ['vendorb', 'vendorb-eu', 'local-engine'].map((backend, rank) => {
    return { backend, model: 'writer', when: 'always', rank, weight: 1 } as const
  })
  return [
    { ...model, id: 'svc/fast', displayName: 'Fast', aliases: [], serve: [] },
    {
      ...model,
      id: 'vendorb/writer',
      displayName: words.passkeyName,
      source: 'admin',
      aliases: ['claude-opus-4-7', words.deviceName],
      contextWindow: 200_000,
      serve,
      published: false,
      usable: false,
    },
  ]
}

function teamBackends({ deviceName, passkeyName }: Words): TeamBackendList {
  const setAt = '2026-11-22T09:00:00.000Z'
  const none = { url: null, credential: null, problem: null }
  return {
    allowedHosts: ['api.vendor.example', '*.models.example'],
    backends: [
      { ...none, name: 'vendorb-eu', source: 'file', dialects: ['messages'] },
      {
        name: `acme/core/${deviceName}`,
        source: 'admin',
        dialects: ['chat', 'responses'],
        url: `https://api.vendor.example/${passkeyName}`,
        credential: { as: 'x-api-key', setAt },
        problem: 'credential_unreadable',
      },
    ],
  }
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

function keysOf(words: Words): TeamKeysPage {
  const key = {
    id: 'k1',
    serviceAccountId: 'a1',
    name: words.passkeyName,
    prefix: 'svck_7Fq2',
    team: words.team,
    models: null,
    createdAt: AT,
    expiresAt: new Date('2027-02-19T09:00:00Z'),
    lastUsedAt: AT,
    replacedBy: null,
  }
  const account = { id: 'a1', name: 'nightly-review', team: words.team, createdAt: AT, createdBy: words.email }
  return {
    accounts: [
      { ...account, activeKeys: 1, lastUsedAt: AT },
      { ...account, id: 'a2', name: 'build-server', activeKeys: 0, lastUsedAt: null },
    ],
    keys: [key],
    models: ['svc/fast', words.otherDeviceName],
    fresh: true,
    notice: 'key_made',
    madeKey: { key: new Secret('svck_7Fq2LCVzYzCNiM_BC7CT_dxt1IPH4N-loV3lJL41fgAycBLCg'), info: key },
  }
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
