import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DirectoryPlan, TeamMemberList } from '../../generated/openapi.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels } from '../support/team-with-models.ts'
import { describeRefusals } from '../support/refusals.ts'
import { atOnce, expectJson, expectOk, messageOf, outcomeOf, tally } from '../support/requests.ts'

const PLAN = '/v1/directory/plan'
const APPLY = '/v1/directory/apply'
const TEAM = '/v1/teams/%40acme%2Fcore'

let keys: TeamWithModels
beforeAll(async () => {
  keys = await startTeamWithModels()
})
afterAll(() => keys[Symbol.asyncDispose]())

/** A directory with these fields of the team `@acme/core`. */
const textOf = (team: string, more = '') => `organizations: [{ name: acme, teams: [{ name: core, ${team} }] }]\n${more}`
const plan = (directory: string, by = keys.ada) =>
  expectJson<DirectoryPlan>('The plan', keys.send('POST', PLAN, { directory }, by))
const apply = (directory: string, { fingerprint }: DirectoryPlan, by = keys.ada) =>
  keys.send('POST', APPLY, { directory, fingerprint }, by)
const emails = async () => {
  const list = await expectJson<TeamMemberList>('The members', keys.send('GET', `${TEAM}/members`))
  return list.members.map(({ email, role }) => `${email} ${role}`)
}

const NOTHING = textOf('')

describe.each([
  { id: 'planDirectory', path: PLAN, body: { directory: NOTHING } },
  { id: 'applyDirectory', path: APPLY, body: { directory: NOTHING, fingerprint: 'x' } },
])('$id', ({ path, body }) => {
  describeRefusals({
    service: () => keys.service,
    method: 'POST',
    path,
    by: () => keys.ada,
    body,
    limitBytes: 64 * 1024,
  })

  it('403: reads a large directory where the path has a slash at its end, too', async () => {
    const directory = `${NOTHING}# ${'x'.repeat(20_000)}`
    expect(await outcomeOf(await keys.send('POST', `${path}/`, { ...body, directory }, keys.member))).toBe(
      '403 forbidden',
    )
  })

  it('400: names the mistakes of the directory', async () => {
    const refused = await keys.send('POST', path, { ...body, directory: textOf('members: [{ email: nobody }]') })
    expect(refused.status).toBe(400)
    expect(await messageOf(refused)).toContain('line 1, organizations[0].teams[0].members[0].email: "nobody" is not')
  })

  it('403: refuses members who are not admins', async () => {
    expect(await outcomeOf(await keys.send('POST', path, body, keys.member))).toBe('403 forbidden')
  })

  it('404: hides teams from admins of other teams, also beside a team of theirs', async () => {
    expect(await outcomeOf(await keys.send('POST', path, body, keys.stranger))).toBe('404 not_found')
    const both = 'organizations: [{ name: acme, teams: [{ name: other }, { name: core }] }]'
    const refused = await keys.send('POST', path, { ...body, directory: both }, keys.stranger)
    expect(refused.status).toBe(404)
    expect(await messageOf(refused)).toContain('@acme/core: You are not a member of a team with this name.')
  })

  it('409: refuses a model with a name of the directory file', async () => {
    const models =
      'models: [{ id: acme/core/x, displayName: X, aliases: [quick], serve: [{ backend: vendora, model: fast-1 }] }]'
    const refused = await keys.send('POST', path, { ...body, directory: textOf('', models) })
    expect(refused.status).toBe(409)
    expect(await messageOf(refused)).toContain(
      '@acme/core: acme/core/x: aliases: the directory file uses the name "quick"',
    )
  })
})

describe('planDirectory', () => {
  it('200: shows what would change, and changes nothing', async () => {
    const before = await emails()
    const planned = await plan(textOf('members: [{ email: new@example.com }, { email: ada@example.com }]'))
    expect(planned).toMatchObject({
      changes: [
        { team: '@acme/core', kind: 'member', change: 'added', name: 'new@example.com', before: null, after: 'member' },
      ],
      readOnly: [{ team: '@acme/core', kind: 'member', name: 'ada@example.com', listed: 'admin' }],
    })
    expect(await emails()).toEqual(before)
  })

  it('200: shows whether the default model would be added, changed or removed', async () => {
    const { prisma } = keys.service.database
    const team = { where: { name: 'core' } }
    const changesWith = async (adminDefaultModel: string | null, wanted: string | null) => {
      await prisma.team.updateMany({ ...team, data: { defaultModel: null, adminDefaultModel } })
      const { changes } = await plan(textOf(`defaultModel: ${wanted}`))
      await prisma.team.updateMany({ ...team, data: { defaultModel: 'svc/fast', adminDefaultModel: null } })
      return changes
    }
    const change = { team: '@acme/core', kind: 'default_model' }
    expect(await changesWith(null, 'svc/deep')).toEqual([
      { ...change, change: 'added', name: 'svc/deep', before: null, after: 'svc/deep' },
    ])
    expect(await changesWith('svc/fast', 'svc/deep')).toEqual([
      { ...change, change: 'changed', name: 'svc/deep', before: 'svc/fast', after: 'svc/deep' },
    ])
    expect(await changesWith('svc/fast', null)).toEqual([
      { ...change, change: 'removed', name: 'svc/fast', before: 'svc/fast', after: null },
    ])
  })
})

describe('applyDirectory', () => {
  const members = (...list: string[]) => textOf(`members: [${list.map((one) => `{ ${one} }`).join(', ')}]`)
  const GRACE = 'email: grace@example.com'

  it('200: applies what was planned, with audit events, emails, and the end of sessions', async () => {
    const model = 'models: [{ id: acme/core/own, displayName: Own, serve: [{ backend: vendora, model: fast-1 }] }]'
    const first = textOf(`members: [{ ${GRACE} }, { email: leaving@example.com }]`, model)
    const planned = await plan(first)
    const { prisma } = keys.service.database
    const { version } = await prisma.directoryState.findFirstOrThrow()
    expect(await expectJson('The first directory', apply(first, planned))).toEqual(planned)
    // Gateways load the models again.
    expect(await prisma.directoryState.findFirstOrThrow()).toMatchObject({ version: version + 1 })
    expect(await emails()).toEqual(expect.arrayContaining(['grace@example.com member', 'leaving@example.com member']))
    expect((await plan(first)).changes).toEqual([])
    expect((await keys.service.mailbox.waitFor('grace@example.com', 'You are invited', 1)).length).toBe(1)

    const leaving = keys.service.clientOf((await keys.service.signIn('leaving@example.com')).accessToken)
    expect((await leaving.GET('/v1/models')).response.status).toBe(200)
    const second = textOf(`members: [{ ${GRACE}, role: admin }]`, 'models: []')
    await expectOk('The second directory', apply(second, await plan(second)))
    expect((await plan(second)).changes).toEqual([])
    expect((await leaving.GET('/v1/models')).response.status).toBe(401)
    expect(await emails()).toContain('grace@example.com admin')
    const events = await prisma.auditEvent.findMany({ orderBy: { id: 'desc' }, take: 3 })
    expect(events.map(({ kind }) => kind).sort()).toEqual([
      'invitation.changed',
      'invitation.withdrawn',
      'model.deleted',
    ])
  })

  it('200: chooses and removes the default model, with audit events', async () => {
    const { prisma } = keys.service.database
    const team = { where: { name: 'core' } }
    await prisma.team.updateMany({ ...team, data: { defaultModel: null } })
    for (const wanted of ['svc/deep', null]) {
      const text = textOf(`defaultModel: ${wanted}`)
      await expectOk('The directory', apply(text, await plan(text)))
      expect(await expectJson('The team', keys.send('GET', TEAM))).toMatchObject({ defaultModel: wanted })
    }
    await prisma.team.updateMany({ ...team, data: { defaultModel: 'svc/fast' } })
    const events = await prisma.auditEvent.findMany({ orderBy: { id: 'desc' }, take: 2 })
    expect(events.map(({ kind, details }) => [kind, details])).toEqual([
      ['team.default_model_changed', { name: null, previous: 'svc/deep' }],
      ['team.default_model_changed', { name: 'svc/deep', previous: null }],
    ])
  })

  it('403: asks for a fresh sign-in to make an admin, and for no other change', async () => {
    const text = members('email: admin@example.com, role: admin')
    const planned = await plan(text)
    expect(await outcomeOf(await apply(text, planned, keys.adaStale))).toBe('403 reauthenticate')
    expect(await emails()).not.toContain('admin@example.com admin')
    const harmless = members('email: plain@example.com')
    expect((await apply(harmless, await plan(harmless), keys.adaStale)).status).toBe(200)
  })

  it('409: changes nothing when the changes are not those of the plan any more', async () => {
    const text = members('email: planned@example.com')
    const planned = await plan(text)
    await expectOk('An invitation', keys.send('POST', `${TEAM}/invitations`, { email: 'meanwhile@example.com' }))
    const before = await emails()
    const refused = await apply(text, planned)
    expect(refused.status).toBe(409)
    expect(await messageOf(refused)).toContain('Make a new plan')
    expect(await emails()).toEqual(before)
  })

  it('409: applies a plan once when it is applied by several at the same time', async () => {
    const text = members('email: once@example.com')
    const planned = await plan(text)
    const outcomes = await atOnce(4, async () => outcomeOf(await apply(text, planned)))
    expect(tally(outcomes)).toEqual({ 200: 1, '409 conflict': 3 })
  })
})
