import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { saveInvitations } from '../../src/control/invitations/store.ts'
import type { DirectoryChanges } from '../../src/directory/change-rules.ts'
import { makeMembershipStore } from '../../src/directory/memberships.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import type { Directory } from '../../src/directory/rules.ts'
import { toSnapshot } from '../../src/directory/snapshot.ts'
import { makeDirectoryStore } from '../../src/directory/store.ts'
import { addSeconds } from '../../src/kernel/clock.ts'
import { applyDirectoryFile } from '../../src/server/files/directory-file.ts'
import { freshDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { directoryOf } from '../support/people.ts'
import { newFolder } from '../support/process.ts'

const MONDAY = new Date('2026-01-05T09:00:00Z')
const TUESDAY = new Date('2026-01-06T09:00:00Z')
const WEDNESDAY = new Date('2026-01-07T09:00:00Z')

type Parts = { core?: string; other?: string; models?: string }

const CORE = `
      - name: core
        defaultModel: svc/fast
        models: [svc/fast, vendora/large]
        members: [{ email: ada@example.com, role: admin }, { email: bob@example.com }]`
const MODELS = `
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: qwen }
  - { id: vendora/large, displayName: Large, owner: vendora }`

function directory({ core = CORE, other = '', models = MODELS }: Parts = {}): Directory {
  const read = readDirectoryFile(`organizations:\n  - name: acme\n    teams: ${core}${other}\nmodels: ${models}\n`)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.directory
}

/** The audit log after the directory was applied for the first time. */
const CREATED = ['model.created', 'model.created', 'team.created', 'invitation.created', 'invitation.created']

const withoutBob = CORE.replace(', { email: bob@example.com }', '')

/** All rows of all tables that applying a directory writes. */
async function allRows({ prisma }: TestDatabase) {
  return {
    organizations: await prisma.organization.findMany({ orderBy: { id: 'asc' } }),
    teams: await prisma.team.findMany({ orderBy: { id: 'asc' } }),
    models: await prisma.model.findMany({ orderBy: { id: 'asc' } }),
    allowed: await prisma.teamModel.findMany({ orderBy: [{ teamId: 'asc' }, { modelId: 'asc' }] }),
    accounts: await prisma.account.findMany({ orderBy: { id: 'asc' } }),
    invitations: await prisma.invitation.findMany({ orderBy: { id: 'asc' } }),
    sessions: await prisma.deviceSession.findMany({ orderBy: { id: 'asc' } }),
    browsers: await prisma.browserSession.findMany({ orderBy: { id: 'asc' } }),
    logins: await prisma.deviceLogin.findMany({ orderBy: { id: 'asc' } }),
    audit: await prisma.auditEvent.findMany({ orderBy: { id: 'asc' } }),
  }
}

async function invitationOf({ prisma }: TestDatabase, email: string) {
  return prisma.invitation.findFirstOrThrow({ where: { account: { email } } })
}

async function auditKinds({ prisma }: TestDatabase): Promise<string[]> {
  const rows = await prisma.auditEvent.findMany({ orderBy: { id: 'asc' } })
  return rows.map(({ kind }) => kind)
}

/** Opens a device session and a browser session for an invitation, and makes a login in each state. */
async function openSessions({ prisma }: TestDatabase, invitationId: string) {
  const later = addSeconds(TUESDAY, 86_400)
  const base = { invitationId, createdAt: MONDAY }
  const login = (code: string) => ({
    ...{ ...base, deviceId: code, deviceName: code, deviceCodeHash: code, mailTokenHash: code, userCode: code },
    ...{ expiresAt: later, startIp: '127.0.0.1', startUserAgent: 'test' },
  })
  const life = { lastSeenAt: MONDAY, idleExpiresAt: later, absoluteExpiresAt: later }
  const device = { ...base, ...life, deviceId: 'd', deviceName: 'd', salt: new Uint8Array(32), lastIp: '127.0.0.1' }
  await prisma.deviceLogin.create({ data: login('pending') })
  await prisma.deviceLogin.create({ data: { ...login('approved'), status: 'approved', approvedAt: MONDAY } })
  await prisma.deviceLogin.create({ data: { ...login('denied'), status: 'denied', userCode: null } })
  await prisma.deviceLogin.create({
    data: { ...login('redeemed'), status: 'approved', userCode: null, deviceSession: { create: device } },
  })
  await prisma.browserSession.create({
    data: { ...base, ...life, hash: 'h', authenticatedAt: MONDAY, ip: '127.0.0.1', userAgent: 'test' },
  })
}

describe('applying a directory', () => {
  it('writes the organizations, teams, models and members of the file', async () => {
    await using database = await freshDatabase()
    await makeDirectoryStore(database).applyDirectory(directory(), MONDAY)

    const rows = await allRows(database)
    expect(rows.organizations.map(({ name }) => name)).toEqual(['acme'])
    expect(rows.teams).toMatchObject([{ name: 'core', defaultModel: 'svc/fast' }])
    expect(rows.models).toMatchObject([
      { id: 'svc/fast', backendModel: 'qwen', certified: true, createdAt: MONDAY },
      { id: 'vendora/large', backendModel: null, upstreamModel: null },
    ])
    expect(rows.allowed.map(({ modelId }) => modelId)).toEqual(['svc/fast', 'vendora/large'])
    expect(await invitationOf(database, 'ada@example.com')).toMatchObject({
      role: 'admin',
      source: 'directory',
      revokedAt: null,
    })
    expect(await invitationOf(database, 'bob@example.com')).toMatchObject({ role: 'member', createdAt: MONDAY })
    expect(await auditKinds(database)).toEqual(CREATED)
  })

  it('makes the first team of the file the one of a person in several teams, also in a large file', async () => {
    await using database = await freshDatabase()
    const emailsOf = (team: string) => Array.from({ length: 400 }, (_, at) => `${team}${at}@example.com`)
    const teamOf = (name: string) => {
      const members = [...emailsOf(name), 'ada@example.com'].map((email) => `{ email: ${email} }`)
      return `\n      - { name: ${name}, members: [${members.join(', ')}] }`
    }
    await makeDirectoryStore(database).applyDirectory(directory({ core: teamOf('zeta') + teamOf('alpha') }), MONDAY)
    const { findInvitation } = makeMembershipStore(database)
    expect(await findInvitation('ada@example.com', null)).toMatchObject({ team: '@acme/zeta' })
  })

  it('gives each account its own random user handle', async () => {
    await using database = await freshDatabase()
    await makeDirectoryStore(database).applyDirectory(directory(), MONDAY)

    const handles = (await allRows(database)).accounts.map(({ userHandle }) => Buffer.from(userHandle).toString('hex'))
    expect(new Set(handles).size).toBe(2)
    expect(handles.every((handle) => /^[0-9a-f]{32}$/.test(handle))).toBe(true)
  })

  it('changes no row when it is applied again', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    await store.applyDirectory(directory(), MONDAY)
    await openSessions(database, (await invitationOf(database, 'ada@example.com')).id)
    const before = await allRows(database)

    await store.applyDirectory(directory(), TUESDAY)
    expect(await allRows(database)).toEqual(before)
  })

  it('updates changed fields and keeps the rows', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    await store.applyDirectory(directory(), MONDAY)
    const before = await allRows(database)

    const core = CORE.replace('defaultModel: svc/fast', 'defaultModel: vendora/large').replace(
      'role: admin',
      'role: member',
    )
    await store.applyDirectory(directory({ core, models: MODELS.replace('qwen', 'qwen3') }), TUESDAY)

    const after = await allRows(database)
    expect(after.teams).toEqual([{ ...before.teams[0], defaultModel: 'vendora/large' }])
    expect(after.models[0]).toEqual({ ...before.models[0], backendModel: 'qwen3' })
    expect(await invitationOf(database, 'ada@example.com')).toMatchObject({ role: 'member', createdAt: MONDAY })
    expect((await auditKinds(database)).slice(CREATED.length)).toEqual([
      ...['model.changed', 'team.changed', 'invitation.changed'],
    ])
  })

  it.each([
    ['its time zone', CORE.replace('defaultModel', 'timeZone: Asia/Tokyo\n        defaultModel'), 'Asia/Tokyo', 2],
    ['one of its models', CORE.replace('vendora/large]', 'svc/other]'), 'UTC', 2],
    ['the number of its models', CORE.replace(', vendora/large]', ']'), 'UTC', 1],
  ])('updates a team of which only %s has changed', async (_, core, timeZone, models) => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    const other = '\n  - { id: svc/other, displayName: Other, owner: svc }'
    await store.applyDirectory(directory({ models: MODELS + other }), MONDAY)
    const changes = await store.applyDirectory(directory({ core, models: MODELS + other }), TUESDAY)
    expect(changes.teams).toEqual({ added: 0, changed: 1, removed: 0 })
    const { teams, allowed } = await allRows(database)
    expect(teams).toMatchObject([{ timeZone }])
    expect(allowed).toHaveLength(models)
    expect((await store.applyDirectory(directory({ core, models: MODELS + other }), WEDNESDAY)).teams.changed).toBe(0)
  })

  it('says in the audit log what has changed of teams, models and backends, and no address', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    const one = { name: 'one', dialects: ['chat'], url: 'https://a.example/secret', basePath: '/v1', credential: null }
    const backends = [one] as unknown as Directory['backends']
    await store.applyDirectory({ ...directory(), backends }, MONDAY)
    const core = CORE.replace('models: [svc/fast, vendora/large]', 'models: [svc/fast]')
    const other = { ...one, url: 'https://b.example/secret' }
    await store.applyDirectory({ ...directory({ core }), backends: [other] as unknown as typeof backends }, TUESDAY)
    await store.applyDirectory({ ...directory({ core, models: MODELS.replace('qwen', 'q') }), backends: [] }, WEDNESDAY)

    const audit = (await allRows(database)).audit.filter(({ at }) => at > MONDAY)
    const team = { team: '@acme/core', defaultModel: 'svc/fast', timeZone: 'UTC' }
    expect(audit).toMatchObject([
      { kind: 'backend.changed', subjectId: 'one', teamId: null, details: { name: 'one', fields: ['url'] } },
      { kind: 'team.changed', details: { ...team, modelsAdded: [], modelsRemoved: ['vendora/large'] } },
      { kind: 'model.changed', subjectId: 'svc/fast', details: { name: 'svc/fast', fields: ['backendModel'] } },
      { kind: 'backend.deleted', subjectId: 'one', teamId: null, accountId: null },
    ])
    expect(audit[1]?.teamId).not.toBeNull()
    expect(JSON.stringify(audit.map(({ details }) => details))).not.toContain('secret')
  })

  it('removes models, allow-lists, teams and organizations that are gone, and keeps the audit', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    const other = '\n      - { name: labs, members: [{ email: eve@example.com }] }'
    await store.applyDirectory(directory({ other }), MONDAY)
    await openSessions(database, (await invitationOf(database, 'eve@example.com')).id)

    await store.applyDirectory(
      directory({ core: CORE.replace(', vendora/large', ''), models: MODELS.split('\n  - { id: vendora')[0] ?? '' }),
      TUESDAY,
    )

    const { teams, models, allowed, sessions, browsers, logins } = await allRows(database)
    expect(teams.map(({ name }) => name)).toEqual(['core'])
    expect(models.map(({ id }) => id)).toEqual(['svc/fast'])
    expect(allowed.map(({ modelId }) => modelId)).toEqual(['svc/fast'])
    expect([sessions, browsers, logins]).toEqual([[], [], []])
    expect((await auditKinds(database)).slice(-4)).toEqual([
      ...['invitation.withdrawn', 'team.removed', 'model.deleted', 'team.changed'],
    ])
    expect((await auditKinds(database)).filter((kind) => kind === 'invitation.created')).toHaveLength(3)

    await store.applyDirectory({ organizations: [], models: [], backends: [] }, WEDNESDAY)
    const rows = await allRows(database)
    expect([rows.organizations, rows.teams, rows.models, rows.invitations]).toEqual([[], [], [], []])
    expect(rows.audit.length).toBeGreaterThan(5)
  })
})

describe('a member who is removed from the file', () => {
  async function withdrawn() {
    const database = await freshDatabase()
    const store = makeDirectoryStore(database)
    await store.applyDirectory(directory(), MONDAY)
    await openSessions(database, (await invitationOf(database, 'bob@example.com')).id)
    await store.applyDirectory(directory({ core: withoutBob }), TUESDAY)
    return { database, store }
  }

  it('loses the invitation and all sessions', async () => {
    const { database } = await withdrawn()
    await using _ = database
    const ended = { revokedAt: TUESDAY, revokedReason: 'invitation_withdrawn' }
    expect(await invitationOf(database, 'bob@example.com')).toMatchObject({ revokedAt: TUESDAY })
    expect(await invitationOf(database, 'ada@example.com')).toMatchObject({ revokedAt: null })
    const { sessions, browsers, audit } = await allRows(database)
    expect(sessions).toMatchObject([ended])
    expect(browsers).toMatchObject([ended])
    const { id, accountId, teamId } = await invitationOf(database, 'bob@example.com')
    expect(audit.at(-1)).toMatchObject({ kind: 'invitation.withdrawn', at: TUESDAY, accountId, teamId, subjectId: id })
  })

  it('cannot finish a pending login, whose user code is released', async () => {
    const { database } = await withdrawn()
    await using _ = database
    const { logins } = await allRows(database)
    const states = logins.map(({ deviceId, status, userCode }) => [deviceId, status, userCode])
    expect(states).toEqual([
      ['pending', 'cancelled', null],
      ['approved', 'cancelled', null],
      ['denied', 'denied', null],
      ['redeemed', 'cancelled', null],
    ])
  })

  it('is invited again when listed again, and stays signed out', async () => {
    const { database, store } = await withdrawn()
    await using _ = database
    await store.applyDirectory(directory(), WEDNESDAY)

    expect(await invitationOf(database, 'bob@example.com')).toMatchObject({ revokedAt: null, createdAt: MONDAY })
    expect((await allRows(database)).sessions).toMatchObject([{ revokedAt: TUESDAY }])
    expect((await auditKinds(database)).at(-1)).toBe('invitation.restored')
  })

  it('is withdrawn once when the file is applied twice', async () => {
    const { database, store } = await withdrawn()
    await using _ = database
    const before = await allRows(database)
    await store.applyDirectory(directory({ core: withoutBob }), WEDNESDAY)
    expect(await allRows(database)).toEqual(before)
  })
})

describe('a member whom an admin invited', () => {
  it('stays until the file lists and later removes the same person', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    await store.applyDirectory(directory({ core: withoutBob }), MONDAY)
    const { teamId } = await invitationOf(database, 'ada@example.com')
    const account = { email: 'bob@example.com', userHandle: new Uint8Array(16), createdAt: MONDAY }
    await database.prisma.invitation.create({
      data: {
        team: { connect: { id: teamId } },
        account: { create: account },
        source: 'admin',
        role: 'admin',
        createdAt: MONDAY,
      },
    })

    await store.applyDirectory(directory({ core: withoutBob }), TUESDAY)
    expect(await invitationOf(database, 'bob@example.com')).toMatchObject({ source: 'admin', revokedAt: null })

    await store.applyDirectory(directory(), TUESDAY)
    expect(await invitationOf(database, 'bob@example.com')).toMatchObject({ source: 'directory', role: 'member' })

    await store.applyDirectory(directory({ core: withoutBob }), WEDNESDAY)
    expect(await invitationOf(database, 'bob@example.com')).toMatchObject({ revokedAt: WEDNESDAY })
  })
})

it('counts what it changes', async () => {
  await using database = await freshDatabase()
  const store = makeDirectoryStore(database)
  await store.applyDirectory(directory(), MONDAY)
  const other = '\n      - { name: labs, members: [{ email: eve@example.com }] }'
  const core = withoutBob.replace('role: admin', 'role: member').replace(', vendora/large', '')
  const changes = await store.applyDirectory(directory({ core, other, models: MODELS.replace('qwen', 'q') }), TUESDAY)
  expect(changes).toMatchObject({
    ...{ members: 2, invited: 1, roles: 1, withdrawn: 1 },
    teams: { added: 1, changed: 1, removed: 0 },
    models: { added: 0, changed: 1, removed: 0 },
    backends: { added: 0, changed: 0, removed: 0 },
  })
})

it('invites people of two teams with the oldest invitation in the first team of the file', async () => {
  await using database = await freshDatabase()
  const other = '\n      - { name: labs, members: [{ email: ada@example.com }] }'
  await makeDirectoryStore(database).applyDirectory(directory({ other }), MONDAY)
  const rows = await database.prisma.invitation.findMany({ orderBy: { id: 'asc' }, include: { team: true } })
  expect(rows.map(({ team }) => team.name)).toEqual(['core', 'core', 'labs'])
  expect(await database.prisma.account.count()).toBe(2)
})

it('changes nothing when applying a directory fails in the middle', async () => {
  await using database = await freshDatabase()
  const store = makeDirectoryStore(database)
  await store.applyDirectory(directory(), MONDAY)
  await openSessions(database, (await invitationOf(database, 'bob@example.com')).id)
  const before = await allRows(database)
  // The withdrawal of Bob is the last row that is written.
  await database.prisma
    .$executeRaw`ALTER TABLE audit_events ADD CONSTRAINT broken CHECK (kind <> 'invitation.withdrawn')`
  try {
    const other = '\n      - { name: labs, members: [{ email: eve@example.com }] }'
    const changed = directory({ core: withoutBob, other, models: MODELS.replace('qwen', 'qwen3') })
    await expect(store.applyDirectory(changed, TUESDAY)).rejects.toThrow()
  } finally {
    await database.prisma.$executeRaw`ALTER TABLE audit_events DROP CONSTRAINT broken`
  }
  expect(await allRows(database)).toEqual(before)
})

describe('a directory file on a running deployment', () => {
  const lines = { fields: [] as object[] }
  const log = { debug() {}, info: (fields: object) => void lines.fields.push(fields), warn() {}, error() {} }

  /** Applies a file as the service does, with this many members of one team and one of another. */
  async function apply(database: TestDatabase, members: number, { head = '', force = false } = {}) {
    await using folder = await newFolder()
    const file = path.join(folder.path, 'directory.yaml')
    const emails = Array.from({ length: members }, (_, index) => `member-${index}@example.com`)
    await writeFile(file, head + directoryOf(emails))
    const store = makeDirectoryStore(database)
    const service = {
      applyDirectory: (given: Directory, judge?: (changes: DirectoryChanges) => void) =>
        store.applyDirectory(given, MONDAY, judge),
    }
    await applyDirectoryFile({ file, readSecret: null, service, force, isShared: false, log })
  }

  const activeMembers = ({ prisma }: TestDatabase) => prisma.invitation.count({ where: { revokedAt: null } })

  it('is refused when it is an old copy, and changes nothing', async () => {
    await using database = await freshDatabase()
    await apply(database, 10)
    const before = await allRows(database)
    await expect(apply(database, 5)).rejects.toThrow(/withdraw 5 of 11 members/)
    expect(await allRows(database)).toEqual(before)
  })

  it('is refused when it removes a team to which admins have invited most members', async () => {
    await using database = await freshDatabase()
    await apply(database, 10)
    const { prisma } = database
    const { id: teamId } = await prisma.team.create({
      data: { name: 'labs', organization: { connect: { name: 'acme' } } },
    })
    const session = { sessionId: 'session-1', sessionKind: 'device', authenticatedAt: null } as const
    const admin = {
      ...session,
      accountId: 'account-1',
      email: 'ada@example.com',
      ip: '127.0.0.1',
      teamId,
      team: '@acme/labs',
    }
    const invited = Array.from({ length: 9 }, (_, index) => {
      return { email: `invited-${index}@example.com`, role: 'member' } as const
    })
    await saveInvitations(prisma, admin, invited, MONDAY)
    const before = await allRows(database)
    await expect(apply(database, 10)).rejects.toThrow(/withdraw 9 of 20 members/)
    expect(await allRows(database)).toEqual(before)
  })

  it('is applied with a newer revision, and refused with an older one', async () => {
    await using database = await freshDatabase()
    await apply(database, 10, { head: 'revision: 6\n' })
    await expect(apply(database, 1, { head: 'revision: 6\n' })).rejects.toThrow(/withdraw 9 of 11 members/)
    await apply(database, 1, { head: 'revision: 7\n' })
    expect(await activeMembers(database)).toBe(2)
    await expect(apply(database, 1, { head: 'revision: 6\n' })).rejects.toThrow(/older than revision 7/)
    expect(lines.fields.at(-1)).toMatchObject({ members: 11, withdrawn: 9, revision: 7 })
    await apply(database, 1, { head: 'revision: 8\n' })
    await expect(apply(database, 1, { head: 'revision: 7\n' })).rejects.toThrow(/older than revision 8/)
  })

  it('is applied with --force', async () => {
    await using database = await freshDatabase()
    await apply(database, 10)
    await apply(database, 1, { force: true })
    expect(await activeMembers(database)).toBe(2)
  })
})

describe('two processes that apply a file at once', () => {
  it('write each change once', async () => {
    await using database = await freshDatabase()
    const stores = [makeDirectoryStore(database), makeDirectoryStore(database)]
    const changes = await Promise.all(stores.map((store) => store.applyDirectory(directory(), MONDAY)))
    expect(changes.map(({ invited }) => invited).toSorted()).toEqual([0, 2])
    expect(await auditKinds(database)).toEqual(CREATED)
  })
})

describe('the snapshot', () => {
  it('is the same object until the directory changes', async () => {
    await using database = await freshDatabase()
    const [writer, reader] = [makeDirectoryStore(database), makeDirectoryStore(database)]
    await writer.applyDirectory(directory(), MONDAY)
    const first = await reader.loadSnapshot()
    await writer.applyDirectory(directory(), TUESDAY)
    expect(await reader.loadSnapshot()).toBe(first)

    await writer.applyDirectory(directory({ core: CORE.replace(', vendora/large', '') }), TUESDAY)
    const second = await reader.loadSnapshot()
    expect(second.teams.get('@acme/core')?.models.map(({ id }) => id)).toEqual(['svc/fast'])
  })

  it('is the same from the database as from the file', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    await store.applyDirectory(directory(), MONDAY)
    const snapshot = await store.loadSnapshot()

    expect([...snapshot.teams.keys()]).toEqual(['@acme/core'])
    expect(snapshot.teams.get('@acme/core')).toMatchObject({
      organization: 'acme',
      name: 'core',
      defaultModel: 'svc/fast',
    })
    expect(snapshot).toEqual(toSnapshot(directory(), MONDAY))
  })

  it('carries backends and what models say of them, and follows their changes', async () => {
    await using database = await freshDatabase()
    const store = makeDirectoryStore(database)
    const backends = (dialect: string) => `
backends:
  - { name: eu, dialects: [${dialect}], url: "https://eu.example.com", basePath: /${dialect}/v4,
      credential: { env: EU_TOKEN, as: x-api-key }, headers: { X-Workspace: ${dialect} } }
  - { name: portal, dialects: [chat], url: "https://portal.example.com", credential: { env: EU_TOKEN, as: Api-Key } }
  - { name: vendora, dialects: [chat] }`
    const served = (dialect: string) => `
  - { id: svc/fast, displayName: Fast, owner: svc, contextWindow: 8000, caps: { images: false },
      aliases: [fast, 'claude-${dialect}-*'],
      serve: [{ backend: eu, model: fast }, { backend: local-engine, model: qwen, when: offline }] }
  - { id: vendora/large, displayName: Large, owner: vendora }`
    for (const dialect of ['messages', 'responses']) {
      const given = directory({ models: served(dialect) + backends(dialect) })
      await store.applyDirectory(given, MONDAY)
      expect(await store.loadSnapshot()).toEqual(toSnapshot(given, MONDAY))
    }
    await store.applyDirectory(directory(), MONDAY)
    expect(await store.loadSnapshot()).toEqual(toSnapshot(directory(), MONDAY))
  })
})
