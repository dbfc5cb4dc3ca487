import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TeamMember } from '../../generated/openapi.ts'
import { makeTeamMemberStore } from '../../src/control/members/store.ts'
import { DAY_MS } from '../../src/kernel/durations.ts'
import { describeAdminRefusals } from '../support/refusals.ts'
import {
  atOnce,
  bearerOf,
  expectData,
  expectJson,
  expectOk,
  json,
  messageOf,
  outcomeOf,
  tally,
  withMethod,
} from '../support/requests.ts'
import { startTeam, INVITATIONS_PATH } from '../support/team.ts'
import type { TestTeam } from '../support/team.ts'

type Page = { readonly members: readonly TeamMember[]; readonly next: string | null }

const PATH = '/v1/teams/%40acme%2Fcore/members'
const UNKNOWN_ID = '01939c1e-6a5b-7c3d-8e4f-0a1b2c3d4e5f'

let team: TestTeam
/** A member whom no test removes. */
let grace: TeamMember
beforeAll(async () => {
  team = await startTeam()
  grace = await invite('grace@example.com')
})
afterAll(() => team[Symbol.asyncDispose]())

const list = (query = '') => expectJson<Page>('The members', team.asAdmin(`${PATH}${query}`))
const find = async (email: string) => {
  const found = (await list()).members.find((member) => member.email === email)
  if (!found) throw new Error(`${email} is not a member.`)
  return found
}
async function invite(email: string, role: 'member' | 'admin' = 'member'): Promise<TeamMember> {
  await expectOk('The invitation', team.asAdmin(INVITATIONS_PATH, json({ email, role })))
  return find(email)
}
const change = (id: string, role: string) => team.asAdmin(`${PATH}/${id}`, withMethod('PATCH', {}, { role }))
const remove = (id: string) => team.asAdmin(`${PATH}/${id}`, { method: 'DELETE' })

describeAdminRefusals(
  [
    { id: 'listMembers', method: 'GET', path: PATH },
    { id: 'changeMember', method: 'PATCH', path: () => `${PATH}/${grace.id}`, body: { role: 'member' } },
    { id: 'removeMember', method: 'DELETE', path: `${PATH}/${UNKNOWN_ID}` },
  ],
  () => team,
)

describe('listMembers', () => {
  it('200: lists members by address, with role, source, devices and last use', async () => {
    const { members } = await list()
    expect(members.map(({ email, role, source }) => [email, role, source])).toEqual([
      ['ada@example.com', 'admin', 'file'],
      ['grace@example.com', 'member', 'admin'],
      ['member@example.com', 'member', 'file'],
    ])
    expect(members[0]).toMatchObject({ devices: 1, lastSeenAt: team.service.clock.now().toISOString() })
    expect(members[1]).toMatchObject({ devices: 0, lastSeenAt: null })
  })

  it.each([
    ['of a browser', () => ({ isBrowser: true })],
    ['at its idle end', (now: Date) => ({ idleExpiresAt: now })],
    ['at its absolute end', (now: Date) => ({ absoluteExpiresAt: now })],
  ])('200: counts no device session %s', async (_, change) => {
    const { prisma } = team.service.database
    const email = 'member@example.com'
    const session = await prisma.deviceSession.findFirstOrThrow({ where: { invitation: { account: { email } } } })
    const { id, isBrowser, idleExpiresAt, absoluteExpiresAt } = session
    expect((await find(email)).devices).toBe(1)
    await prisma.deviceSession.update({ where: { id }, data: change(team.service.clock.now()) })
    expect((await find(email)).devices).toBe(0)
    await prisma.deviceSession.update({ where: { id }, data: { isBrowser, idleExpiresAt, absoluteExpiresAt } })
  })

  it.each([
    [29, 'grace@example.com', 'counts'],
    [30, 'grace@example.com', 'does not count'],
    [29, 'member@example.com', 'does not count'],
  ])('200: %i days after its last use, an API key of %s %s as a use by grace', async (days, email, counts) => {
    const now = team.service.clock.now()
    const lastUsedAt = new Date(now.getTime() - days * DAY_MS)
    const { prisma } = team.service.database
    const { id: invitationId } = await prisma.invitation.findFirstOrThrow({ where: { account: { email } } })
    const hash = `used ${days} days ago`
    const key = { hash, prefix: 'svck_1', name: 'ci', invitationId, createdAt: lastUsedAt, expiresAt: now }
    await prisma.apiKey.create({ data: { ...key, lastUsedAt } })
    const seen = (await find(grace.email)).lastSeenAt
    await prisma.apiKey.delete({ where: { hash } })
    expect(seen).toBe(counts === 'counts' ? lastUsedAt.toISOString() : null)
  })

  it('200: gives pages that follow each other', async () => {
    const first = await list('?limit=2')
    expect(first.members.map(({ email }) => email)).toEqual(['ada@example.com', 'grace@example.com'])
    const second = await list(`?limit=2&after=${encodeURIComponent(first.next ?? '')}`)
    expect(second).toMatchObject({ members: [{ email: 'member@example.com' }], next: null })
  })

  it('400: refuses a page of no members or of too many, and one behind an address with NUL', async () => {
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?after=%00']) {
      expect(await outcomeOf(await team.asAdmin(`${PATH}${query}`))).toBe('400 invalid_request')
    }
  })
})

describe('changeMember', () => {
  it('200: makes a member an admin at once, with an audit event', async () => {
    const { id, email } = await invite('promoted@example.com')
    const by = bearerOf((await team.service.signIn(email)).accessToken)
    const asThem = () => team.service.fetch(PATH, { headers: by })
    expect(await outcomeOf(await asThem())).toBe('403 forbidden')
    const changed = await expectJson<TeamMember>('The change', change(id, 'admin'))
    expect(changed).toMatchObject({ id, email, role: 'admin', devices: 1 })
    expect((await asThem()).status).toBe(200)
    await expectOk('The same role again', change(id, 'admin'))
    const { prisma } = team.service.database
    const events = await prisma.auditEvent.findMany({ where: { accountId: id, kind: 'invitation.changed' } })
    expect(events).toMatchObject([{ details: { role: 'admin', previousRole: 'member', by: 'admin' } }])
    await expectOk('The removal', remove(id))
  })

  it('400: refuses an unknown role and an id that is no UUID', async () => {
    expect(await outcomeOf(await change(grace.id, 'owner'))).toBe('400 invalid_request')
    expect(await outcomeOf(await change('grace@example.com', 'admin'))).toBe('400 invalid_request')
  })

  it('403: asks for a fresh sign-in to make an admin, by role or by invitation, and not to take the role away', async () => {
    const { service } = team
    const login = await service.startLogin('ada@example.com', { deviceId: 'second' })
    await expectOk('The approval', team.asAdmin('/device', json({ userCode: login.userCode })))
    const polled = await service.client.POST('/v1/auth/device/poll', { body: { deviceCode: login.deviceCode } })
    const stale = bearerOf(expectData('The poll', polled).accessToken)
    const set = (role: string) => service.fetch(`${PATH}/${grace.id}`, withMethod('PATCH', stale, { role }))
    expect(await outcomeOf(await set('admin'))).toBe('403 reauthenticate')
    expect((await set('member')).status).toBe(200)
    const inviting = service.fetch(INVITATIONS_PATH, json({ email: 'thief@example.com', role: 'admin' }, stale))
    expect(await outcomeOf(await inviting)).toBe('403 reauthenticate')
  })

  it('404: refuses accounts that are not members', async () => {
    expect(await outcomeOf(await change(UNKNOWN_ID, 'admin'))).toBe('404 not_found')
  })

  it('409: refuses members of the directory file, and says where to change them', async () => {
    const listed = await change((await find('member@example.com')).id, 'admin')
    expect(listed.status).toBe(409)
    expect(await messageOf(listed)).toContain('The directory file lists this member. Change it there')
  })
})

describe('removeMember', () => {
  it('200: ends the devices of the person, who can be invited again', async () => {
    const { id, email } = await invite('leaving@example.com')
    const client = team.service.clientOf((await team.service.signIn(email)).accessToken)
    expect((await client.GET('/v1/models')).response.status).toBe(200)
    await expectOk('The removal', remove(id))
    expect((await client.GET('/v1/models')).response.status).toBe(401)
    expect(await outcomeOf(await remove(id))).toBe('404 not_found')
    expect(await invite(email)).toMatchObject({ id, devices: 0 })
  })

  it('200: hides the team and its usage from the person, also with a sign-in to another team', async () => {
    const OTHER = '/v1/teams/%40acme%2Fother'
    const { id } = await find('member@example.com')
    await expectOk('The invitation', team.asStranger(`${OTHER}/invitations`, json({ email: 'member@example.com' })))
    const outcomes = async () => [
      await outcomeOf(await team.asMember(OTHER)),
      await outcomeOf(await team.asMember('/teams/acme/other', { headers: { accept: 'text/html' } })),
    ]
    expect(await outcomes()).toEqual(['200', '200'])
    await expectOk('The removal', team.asStranger(`${OTHER}/members/${id}`, { method: 'DELETE' }))
    expect(await outcomes()).toEqual(['404 not_found', '404'])
    expect(await outcomeOf(await team.asMember('/v1/teams/%40acme%2Fcore'))).toBe('200')
  })

  it('400: refuses an id that is no UUID', async () => {
    expect(await outcomeOf(await remove('grace@example.com'))).toBe('400 invalid_request')
  })

  it('404: removes nobody for an admin who has been removed since the request was authenticated', async () => {
    const { id: accountId } = await invite('late@example.com', 'admin')
    await expectOk('The removal', remove(accountId))
    const { database, clock } = team.service
    const { id: teamId } = await database.prisma.team.findFirstOrThrow({ where: { name: 'core' } })
    const session = { sessionId: UNKNOWN_ID, sessionKind: 'device', authenticatedAt: null } as const
    const late = { ...session, accountId, email: 'late@example.com', ip: '127.0.0.1', teamId, team: '@acme/core' }
    const removing = makeTeamMemberStore(database).remove(late, { accountId: grace.id }, clock.now())
    await expect(removing).rejects.toMatchObject({ code: 'not_found' })
  })

  it('401: removes nobody for an admin who was signed out since the request was authenticated', async () => {
    const { id: accountId } = await invite('away@example.com', 'admin')
    const { database, clock, ...service } = team.service
    const { accessToken } = await service.signIn('away@example.com')
    const where = { invitation: { accountId } }
    const session = await database.prisma.deviceSession.findFirstOrThrow({ where, include: { invitation: true } })
    await expectOk('The sign-out', service.fetch('/v1/auth/logout', json({}, bearerOf(accessToken))))
    const actor = {
      sessionId: session.id,
      sessionKind: 'device',
      authenticatedAt: null,
      accountId,
      email: 'away@example.com',
      ip: '127.0.0.1',
      teamId: session.invitation.teamId,
      team: '@acme/core',
    } as const
    const removing = makeTeamMemberStore(database).remove(actor, { accountId: grace.id }, clock.now())
    await expect(removing).rejects.toMatchObject({ code: 'unauthorized' })
    await expectOk('The removal', remove(accountId))
  })

  it('409: keeps one admin, also when two admins remove each other, and when the invitation is withdrawn', async () => {
    const admins = [await invite('first@example.com', 'admin'), await invite('second@example.com', 'admin')]
    // The file makes nobody an admin any more, so that only the two are left.
    const { prisma } = team.service.database
    const file = { role: 'admin', source: 'directory' } as const
    const { count } = await prisma.invitation.updateMany({
      where: { ...file, team: { name: 'core' }, account: { email: 'ada@example.com' } },
      data: { role: 'member' },
    })
    expect(count).toBe(1)
    const tokens = await Promise.all(admins.map(({ email }) => team.service.signIn(email)))
    const bearers = tokens.map(({ accessToken }) => bearerOf(accessToken))
    const removed = await atOnce(2, async (i) => {
      const path = `${PATH}/${admins[1 - i]?.id}`
      return outcomeOf(await team.service.fetch(path, { method: 'DELETE', headers: bearers[i] ?? {} }))
    })
    // Who is removed first is not an admin any more when the second request is answered.
    expect(tally(removed)['200']).toBe(1)
    const [last] = await prisma.invitation.findMany({
      where: { role: 'admin', revokedAt: null, team: { name: 'core' } },
      include: { account: true },
    })
    const by = bearers[admins.findIndex(({ id }) => id === last?.accountId)] ?? {}
    const refused = await team.service.fetch(`${PATH}/${last?.accountId}`, { method: 'DELETE', headers: by })
    expect(await messageOf(refused)).toContain('This is the only admin of the team. Make another member an admin')
    const demoted = withMethod('PATCH', by, { role: 'member' })
    expect(await outcomeOf(await team.service.fetch(`${PATH}/${last?.accountId}`, demoted))).toBe('409 conflict')
    const withdrawn = await team.service.fetch(`${INVITATIONS_PATH}/${last?.id}`, { method: 'DELETE', headers: by })
    expect(await outcomeOf(withdrawn)).toBe('409 conflict')
    await prisma.invitation.updateMany({ where: { account: { email: 'ada@example.com' } }, data: { role: 'admin' } })
  })
})
