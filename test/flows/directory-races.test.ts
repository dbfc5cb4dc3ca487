import { describe, expect, it } from 'vitest'
import { makeInvitationStore } from '../../src/control/invitations/store.ts'
import { makeTeamMemberStore } from '../../src/control/members/store.ts'
import type { Database } from '../../src/database/client.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import type { Directory } from '../../src/directory/rules.ts'
import { toSnapshot } from '../../src/directory/snapshot.ts'
import { makeDirectoryStore } from '../../src/directory/store.ts'
import type { Actor } from '../../src/kernel/caller.ts'
import { newEncryptionKey } from '../../src/kernel/credentials/cipher.ts'
import { freshDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'
import { bearerOf, json, outcomeOf } from '../support/requests.ts'
import { startService } from '../support/service.ts'

const NOW = new Date('2026-01-05T09:00:00Z')

/** A team with one model and these members. */
function directory({ model = 'svc/first', members = ['ada@example.com'] } = {}): Directory {
  const listed = members.map((email) => `{ email: ${email} }`).join(', ')
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
    const { accountId, teamId } = await database.prisma.invitation.findFirstOrThrow()
    const ada: Actor = { accountId, ip: '127.0.0.1', sessionKind: 'device', sessionId: accountId, authenticatedAt: NOW }
    const [invitations, members] = [makeInvitationStore(database), makeTeamMemberStore(database)]
    const ofBob = { teamId, account: { email: 'bob@example.com' } }
    return {
      invite: () => invitations.invite(teamId, { email: 'bob@example.com', role: 'member' }, ada, NOW),
      remove: () => members.remove(ofBob, ada, NOW),
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
