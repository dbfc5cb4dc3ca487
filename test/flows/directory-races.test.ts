import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeInvitationStore } from '../../src/control/invitations/store.ts'
import { makeTeamMemberStore } from '../../src/control/members/store.ts'
import type { TeamActor } from '../../src/control/team-access.ts'
import type { Database } from '../../src/database/client.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import type { Directory } from '../../src/directory/rules.ts'
import { toSnapshot } from '../../src/directory/snapshot.ts'
import { makeDirectoryStore } from '../../src/directory/store.ts'
import { newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { newSalt } from '../../src/kernel/secret.ts'
import { freshDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bearerOf, expectJson, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const NOW = new Date('2026-01-05T09:00:00Z')

/** A team with one model and these admins. */
function directory({ model = 'svc/first', members = ['ada@example.com'] } = {}): Directory {
  const listed = members.map((email) => `{ email: ${email}, role: admin }`).join(', ')
  const read = readDirectoryFile(`
organizations:
  - name: acme
    teams: [{ name: core, defaultModel: ${model}, models: [${model}], members: [${listed}] }]
models: [{ id: ${model}, displayName: Model, owner: svc, aliases: ['claude-*'] }]`)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.directory
}

/** Does `change` just before the next use of a method of the database's client. */
function interrupt({ prisma }: Database, method: '$queryRaw' | '$transaction', change: () => Promise<unknown>): void {
  const use = prisma[method].bind(prisma) as (...given: unknown[]) => Promise<unknown>
  const interrupted = async (...given: unknown[]) => {
    Object.assign(prisma, { [method]: use })
    await change()
    return use(...given)
  }
  Object.assign(prisma, { [method]: interrupted })
}

it('a snapshot that is loaded while a file is applied has the whole file', async () => {
  await using database = await freshDatabase()
  const [writer, reader] = [makeDirectoryStore(database), makeDirectoryStore(database)]
  await writer.applyDirectory(directory({ model: 'svc/first' }), NOW)
  // Teams are read with it, behind the models.
  interrupt(database, '$queryRaw', () => writer.applyDirectory(directory({ model: 'svc/second' }), NOW))
  expect(await reader.loadSnapshot()).toEqual(toSnapshot(directory({ model: 'svc/second' }), NOW))
})

it('a file that lists members and names of models that admins have added says so', async () => {
  await using database = await freshDatabase()
  const store = makeDirectoryStore(database)
  const { overridden: none } = await store.applyDirectory(directory({ model: 'svc/first' }), NOW)
  expect(none).toBe(undefined)
  const { id: teamId } = await database.prisma.team.findFirstOrThrow()
  const added = { teamId, displayName: 'Added', serve: [], createdAt: NOW }
  await database.prisma.adminModel.createMany({
    data: [
      { ...added, id: 'acme/core/taken', aliases: ['svc/second'] },
      { ...added, id: 'acme/core/other' },
    ],
  })
  await database.prisma.invitation.updateMany({ data: { source: 'admin' } })
  const { overridden } = await store.applyDirectory(directory({ model: 'svc/second' }), NOW)
  expect(overridden).toEqual({ members: 1, models: ['acme/core/taken'] })
})

it('a file is refused with a reason when the directory changes each time before the file is applied', async () => {
  await using database = await freshDatabase()
  const store = makeDirectoryStore(database)
  let changes = 0
  const change = async () => {
    await store.applyDirectory(directory({ model: `svc/other-${changes++}` }), NOW)
    interrupt(database, '$transaction', change)
  }
  interrupt(database, '$transaction', change)
  await expect(makeDirectoryStore(database).applyDirectory(directory(), NOW)).rejects.toThrow('Apply the file again.')
  expect(changes).toBe(5)
})

describe('a file that lists a member whom an admin changes meanwhile', () => {
  const bothListed = directory({ members: ['ada@example.com', 'bob@example.com'] })

  async function startTeam(database: TestDatabase) {
    await makeDirectoryStore(database).applyDirectory(directory(), NOW)
    const { id: invitationId, accountId, teamId } = await database.prisma.invitation.findFirstOrThrow()
    const times = { createdAt: NOW, lastSeenAt: NOW, idleExpiresAt: NOW, absoluteExpiresAt: NOW }
    const device = { deviceId: 'laptop', deviceName: 'Laptop', lastIp: '127.0.0.1', salt: newSalt() }
    const { id: sessionId } = await database.prisma.deviceSession.create({
      data: { ...device, ...times, invitationId },
    })
    const session = { sessionKind: 'device', sessionId, authenticatedAt: NOW } as const
    const email = 'ada@example.com'
    const ada: TeamActor = { ...session, accountId, email, ip: '127.0.0.1', teamId, team: '@acme/core' }
    const [invitations, members] = [makeInvitationStore(database), makeTeamMemberStore(database)]
    const ofBob = { account: { email: 'bob@example.com' } }
    return {
      invite: () => invitations.invite(ada, { email: 'bob@example.com', role: 'member' }, NOW),
      remove: () => members.remove(ada, ofBob, NOW),
    }
  }

  /** What happened to the invitation of Bob, and who did it. */
  async function eventsOfBob({ prisma }: TestDatabase): Promise<string[]> {
    const { id } = await prisma.invitation.findFirstOrThrow({ where: { account: { email: 'bob@example.com' } } })
    const events = await prisma.auditEvent.findMany({ where: { subjectId: id }, orderBy: { id: 'asc' } })
    return events.map(({ kind, details }) => `${kind} by ${(details as { by: string }).by}`)
  }

  it('restores the invitation that was withdrawn', async () => {
    await using database = await freshDatabase()
    const bob = await startTeam(database)
    await bob.invite()
    interrupt(database, '$transaction', bob.remove)
    await makeDirectoryStore(database).applyDirectory(bothListed, NOW)
    expect(await eventsOfBob(database)).toEqual([
      'invitation.created by admin',
      'invitation.withdrawn by admin',
      'invitation.restored by directory',
    ])
  })

  it('changes the invitation that was made', async () => {
    await using database = await freshDatabase()
    const bob = await startTeam(database)
    interrupt(database, '$transaction', bob.invite)
    await makeDirectoryStore(database).applyDirectory(bothListed, NOW)
    expect(await eventsOfBob(database)).toEqual(['invitation.created by admin', 'invitation.changed by directory'])
  })

  it('changes the invitation that was restored', async () => {
    await using database = await freshDatabase()
    const bob = await startTeam(database)
    await bob.invite()
    await bob.remove()
    interrupt(database, '$transaction', bob.invite)
    await makeDirectoryStore(database).applyDirectory(bothListed, NOW)
    expect((await eventsOfBob(database)).slice(-2)).toEqual([
      'invitation.restored by admin',
      'invitation.changed by directory',
    ])
  })
})

describe('a team that the file removes', () => {
  const TEAM = '/v1/teams/%40acme%2Fcore'
  const listed = `
organizations: [{ name: acme, teams: [{ name: core, members: [{ email: ada@example.com, role: admin }] }] }]`
  const plan = listed.replace(', role: admin', '')

  it.each([
    ['invites', 'POST', `${TEAM}/invitations`, { email: 'bob@example.com' }],
    ['makes a service account', 'POST', `${TEAM}/service-accounts`, { name: 'builds' }],
    ['makes a limit', 'POST', `${TEAM}/limits`, { subject: 'team', period: 'day', amountNanoUsd: 1 }],
    ['chooses the default model', 'PATCH', TEAM, { defaultModel: null }],
    [
      'adds a backend',
      'PUT',
      `${TEAM}/backends/acme%2Fcore%2Fown`,
      { dialects: ['chat'], url: 'https://vendor.example' },
    ],
    ['applies a plan', 'POST', '/v1/directory/apply', { directory: plan, fingerprint: 'a'.repeat(43) }],
  ])('does not exist for an admin who %s at that moment', async (_, method, path, body) => {
    const env = { SVC_ADMIN_BACKEND_HOSTS: 'vendor.example', SVC_SECRET_KEY: newEncryptionKey().reveal() }
    await using service = await startService({ directory: listed, env })
    const { accessToken } = await service.signIn('ada@example.com')
    interrupt(service.database, '$transaction', () => service.applyDirectory('organizations: []'))
    const answer = await service.fetch(path, { ...json(body, bearerOf(accessToken)), method })
    expect(await outcomeOf(answer)).toBe('404 not_found')
  })
})

describe('an admin who is made a member', () => {
  const TEAM = '/v1/teams/%40acme%2Fcore'
  const UNKNOWN = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'
  const MODEL = { displayName: 'Own', serve: [{ backend: 'local-engine', model: 'own' }] }
  const BACKEND = { dialects: ['chat'], url: 'https://vendor.example' }
  const listed = `
organizations: [{ name: acme, teams: [{ name: core, members: [{ email: ada@example.com, role: admin }] }] }]`

  const env = { SVC_ADMIN_BACKEND_HOSTS: 'vendor.example', SVC_SECRET_KEY: newEncryptionKey().reveal() }
  let service: TestService
  let by: Record<string, string>
  let account: { id: string }
  let key: { info: { id: string } }

  beforeAll(async () => {
    service = await startService({ directory: listed, env })
    by = bearerOf((await service.signIn('ada@example.com')).accessToken)
    const made = service.fetch(`${TEAM}/service-accounts`, json({ name: 'builds' }, by))
    account = await expectJson('The service account', made)
    const path = `${TEAM}/service-accounts/${account.id}/keys`
    key = await expectJson('The key', service.fetch(path, json({ name: 'builds' }, by)))
  })
  afterAll(() => service[Symbol.asyncDispose]())

  it.each([
    ['invites', 'POST', '/invitations', { email: 'bob@example.com' }],
    ['withdraws an invitation', 'DELETE', `/invitations/${UNKNOWN}`, {}],
    ['makes an admin', 'PATCH', `/members/${UNKNOWN}`, { role: 'admin' }],
    ['removes a member', 'DELETE', `/members/${UNKNOWN}`, {}],
    ['signs a device out', 'DELETE', `/devices/${UNKNOWN}`, {}],
    ['makes a service account', 'POST', '/service-accounts', { name: 'deploys' }],
    ['deletes a service account', 'DELETE', '/service-accounts/ID', {}],
    ['makes a key', 'POST', '/service-accounts/ID/keys', { name: 'deploys' }],
    ['rotates a key', 'POST', '/service-accounts/ID/keys/KEY/rotate', {}],
    ['revokes a key', 'DELETE', `/service-accounts/ID/keys/${UNKNOWN}`, {}],
    ['makes a limit', 'POST', '/limits', { subject: 'team', period: 'day', amountNanoUsd: 1 }],
    ['changes a limit', 'PATCH', `/limits/${UNKNOWN}`, { amountNanoUsd: 1 }],
    ['removes a limit', 'DELETE', `/limits/${UNKNOWN}`, {}],
    ['adds a model', 'PUT', '/models/acme%2Fcore%2Fown', MODEL],
    ['deletes a model', 'DELETE', '/models/acme%2Fcore%2Fown', {}],
    ['chooses the default model', 'PATCH', '', { defaultModel: null }],
    ['adds a backend', 'PUT', '/backends/acme%2Fcore%2Fown', BACKEND],
    ['deletes a backend', 'DELETE', '/backends/acme%2Fcore%2Fown', {}],
    ['applies a plan', 'POST', '/v1/directory/apply', { directory: listed, fingerprint: 'a'.repeat(43) }],
  ])('changes nothing of the team any more: %s', async (_, method, path, body) => {
    const { prisma } = service.database
    interrupt(service.database, '$transaction', () => prisma.invitation.updateMany({ data: { role: 'member' } }))
    const whole = path.startsWith('/v1/') ? path : TEAM + path.replace('ID', account.id).replace('KEY', key.info.id)
    const answer = await service.fetch(whole, {
      ...json(body, by),
      method,
    })
    await prisma.invitation.updateMany({ data: { role: 'admin' } })
    expect(await outcomeOf(answer)).toBe('403 forbidden')
  })
})
