import { describe, expect, it } from 'vitest'
import { makeInvitationStore } from '../../src/control/invitations/store.ts'
import { makeTeamMemberStore } from '../../src/control/members/store.ts'
import type { Database } from '../../src/database/client.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import type { Directory } from '../../src/directory/rules.ts'
import { toSnapshot } from '../../src/directory/snapshot.ts'
import { makeDirectoryStore } from '../../src/directory/store.ts'
import type { Actor } from '../../src/kernel/caller.ts'
import { freshDatabase } from '../support/database.ts'
import type { TestDatabase } from '../support/database.ts'

const NOW = new Date('2026-01-05T09:00:00Z')

/** A team with one model and these members. */
function directory({ model = 'svc/first', members = ['ada@example.com'] } = {}): Directory {
  const read = readDirectoryFile(`
organizations:
  - name: acme
    teams: [{ name: core, defaultModel: ${model}, models: [${model}], members: [${members.map((email) => `{ email: ${email} }`).join(', ')}] }]
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
