import { describe, expect, it } from 'vitest'
import { fingerprintOfPlan, judgeSize, makesAdmin, planTeam } from '../../src/control/directory-plan/rules.ts'
import type { CurrentMember, CurrentTeam, TeamPlan } from '../../src/control/directory-plan/rules.ts'
import { readAdminDirectory } from '../../src/directory/admin-directory.ts'
import type { WantedTeam } from '../../src/directory/admin-directory.ts'
import { writeMistakes } from '../../src/directory/mistakes.ts'
import { readDirectoryFile, toSnapshotModel } from '../../src/directory/rules.ts'
import { makeNameTable } from '../../src/directory/aliases.ts'

const createdAt = new Date('2026-11-21T09:00:00Z')
const file = readDirectoryFile(`
organizations: []
models: [{ id: svc/fast, displayName: Fast, owner: svc, upstreamModel: fast-1, aliases: [quick] }]
`)
if ('mistakes' in file) throw new Error(file.mistakes.join('\n'))
const fileModels = file.directory.models.map((model) => toSnapshotModel(model, createdAt))

/** A directory with these fields of the team `@acme/core`. */
function wanted(team: string, models = ''): WantedTeam {
  const read = readAdminDirectory(`organizations: [{ name: acme, teams: [{ name: core, ${team} }] }]\n${models}`)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  const [first] = read.teams
  if (!first) throw new Error('The directory has no team.')
  return first
}

const OWN = 'models: [{ id: acme/core/own, displayName: Own, serve: [{ backend: vendora, model: fast-1 }] }]'

const member = (email: string, role: 'member' | 'admin', source: 'directory' | 'admin'): CurrentMember => {
  return { id: `i-${email}`, accountId: `a-${email}`, teamId: 't', email, role, source }
}
const current: CurrentTeam = {
  members: [
    member('ada@example.com', 'admin', 'directory'),
    member('bob@example.com', 'admin', 'admin'),
    member('eve@example.com', 'member', 'admin'),
  ],
  defaultModel: null,
  adminDefaultModel: null,
  fileModels,
  adminModels: [],
  ownBackends: [],
  names: makeNameTable(fileModels),
}

function plan(given: WantedTeam, changed: Partial<CurrentTeam> = {}): TeamPlan {
  const planned = planTeam(given, { ...current, ...changed })
  if ('mistakes' in planned) throw new Error(writeMistakes(planned.mistakes))
  return planned
}
const shown = ({ changes }: TeamPlan) =>
  changes.map((change) =>
    [change.kind, ...('name' in change ? [change.change, change.name] : [change.after])].join(' '),
  )

describe('planTeam', () => {
  it('adds, changes and removes what admins have added, and leaves what the file lists', () => {
    const planned = plan(
      wanted('members: [{ email: bob@example.com }, { email: New@example.com }, { email: ada@example.com }]'),
    )
    expect(shown(planned)).toEqual([
      'member changed bob@example.com',
      'member added new@example.com',
      'member removed eve@example.com',
    ])
    expect(planned.readOnly).toEqual([{ kind: 'member', name: 'ada@example.com', listed: 'admin' }])
  })

  it('leaves a team without an admin when it had none', () => {
    const members = current.members.slice(2)
    expect(shown(plan(wanted('members: []'), { members }))).toEqual(['member removed eve@example.com'])
  })

  it('changes nothing that is left out, and nothing that is so already', () => {
    expect(shown(plan(wanted('')))).toEqual([])
    const adminModels = [{ ...(wanted('', OWN).models?.[0]?.settings ?? never()), id: 'acme/core/own', createdAt }]
    expect(shown(plan(wanted('', OWN), { adminModels }))).toEqual([])
    expect(shown(plan(wanted('', 'models: []'), { adminModels }))).toEqual(['model removed acme/core/own'])
    expect(shown(plan(wanted('', OWN.replace('Own', 'Other')), { adminModels }))).toEqual([
      'model changed acme/core/own',
    ])
  })

  it('takes a default model of the file or of the same directory', () => {
    expect(shown(plan(wanted('defaultModel: acme/core/own', OWN)))).toEqual([
      'model added acme/core/own',
      'default_model acme/core/own',
    ])
    expect(shown(plan(wanted('defaultModel: null'), { adminDefaultModel: 'svc/fast' }))).toEqual(['default_model '])
    expect(shown(plan(wanted('members: []'), { adminDefaultModel: 'svc/gone' }))).toHaveLength(2)
    const ofFile = plan(wanted('defaultModel: svc/other'), { defaultModel: 'svc/fast' })
    expect(ofFile).toMatchObject({ changes: [], readOnly: [{ kind: 'default_model', listed: 'svc/fast' }] })
    const same = plan(wanted('defaultModel: svc/fast'), { defaultModel: 'svc/fast' })
    expect(same).toMatchObject({ changes: [], readOnly: [] })
  })

  it.each([
    ['an unknown default model', wanted('defaultModel: svc/other'), {}, 'invalid'],
    [
      'the removal of the default model',
      wanted('', 'models: []'),
      {
        adminDefaultModel: 'acme/core/own',
        adminModels: [{ ...(wanted('', OWN).models?.[0]?.settings ?? never()), id: 'acme/core/own', createdAt }],
      },
      'invalid',
    ],
    ['a model that is served by nothing of the team', wanted('', OWN.replace('fast-1', 'other')), {}, 'invalid'],
    ['a name of the file', wanted('', OWN.replace('serve', 'aliases: [quick], serve')), {}, 'taken'],
    ['a team without an admin', wanted('members: []'), { members: current.members.slice(1) }, 'taken'],
  ])('refuses %s, and names the team', (_name, given, changed, kind) => {
    expect(planTeam(given, { ...current, ...changed })).toMatchObject({
      kind,
      mistakes: [{ message: expect.stringMatching(/^@acme\/core: /) }],
    })
  })
})

describe('makesAdmin', () => {
  it.each([
    ['members: [{ email: bob@example.com, role: admin }, { email: eve@example.com, role: admin }]', true],
    ['members: [{ email: bob@example.com, role: admin }, { email: new@example.com, role: admin }]', true],
    ['members: [{ email: bob@example.com, role: admin }, { email: new@example.com }]', false],
  ])('%s: %s', (given, makes) => {
    expect(makesAdmin([plan(wanted(given))])).toBe(makes)
  })
})

it('refuses a plan of more than 500 changes, in all teams together', () => {
  const planned = (count: number) => ({
    ...plan(wanted('')),
    changes: Array.from({ length: count }, (_, at) => ({
      kind: 'member' as const,
      change: 'added' as const,
      name: `${at}@example.com`,
      after: 'member' as const,
    })),
  })
  expect(judgeSize([planned(250), planned(250)])).toBeNull()
  expect(judgeSize([planned(250), planned(251)])).toMatchObject({
    kind: 'invalid',
    mistakes: [{ message: expect.stringContaining('501 changes') }],
  })
})

describe('fingerprintOfPlan', () => {
  it('differs when the plan or the rows differ', () => {
    const given = wanted('members: [{ email: bob@example.com }]')
    const first = fingerprintOfPlan([plan(given)])
    expect(fingerprintOfPlan([plan(given)])).toBe(first)
    expect(fingerprintOfPlan([plan(given, { members: current.members.slice(0, 2) })])).not.toBe(first)
  })
})

describe('readAdminDirectory', () => {
  const team = (fields: string) => `organizations: [{ name: acme, teams: [{ name: core, ${fields} }] }]`

  it.each([
    [
      'an unknown field, with its line and the known ones',
      `${team('')}\nteams: []`,
      'line 2, teams: is not a known field (known: organizations, models)',
    ],
    ['a model of another team', `${team('')}\n${OWN.replace('core', 'other')}`, '"acme/other/own" does not begin'],
    [
      'a member that is listed twice',
      team('members: [{ email: a@b.co }, { email: A@b.co }]'),
      '"a@b.co" is listed twice',
    ],
    ['a team that is listed twice', 'organizations: [{ name: a, teams: [{ name: b }, { name: b }] }]', 'listed twice'],
    ['no team', 'organizations: []', 'must name an organization'],
    ['no YAML', '{', 'line 1'],
    ['deep nesting', '['.repeat(48_000), 'nested deeper than 100 levels'],
    ['a long chain of lists', '- '.repeat(24_000), 'nested deeper than 100 levels'],
    ['a text that expands', `a: &a [1]\n${'b: [*a, *a]\n'.repeat(2)}`, 'line'],
  ])('names the mistake: %s', (_name, text, mistake) => {
    const read = readAdminDirectory(text)
    expect('mistakes' in read && read.mistakes.join('\n')).toContain(mistake)
  })

  it('reads the members of a large team, because a list is complete and cannot be given in parts', () => {
    const members = Array.from({ length: 1000 }, (_, at) => `{ email: person-${at}@example.com }`)
    expect(readAdminDirectory(team(`members: [${members.join(', ')}]`))).toHaveProperty('teams')
  })

  it('answers a directory file of the operator with one mistake, which names the fields to leave out', () => {
    const file = `
revision: 3
organizations: [{ name: acme, teams: [{ name: core, timeZone: UTC, models: [a/b], members: [] }] }]
models: [{ id: a/b, displayName: B, owner: a }, { id: a/c, displayName: C, owner: a, price: { as: c } }]
backends: []`
    expect(readAdminDirectory(file)).toEqual({
      mistakes: [
        expect.stringContaining(
          'these fields: revision, backends; timeZone, models of teams; owner, price of models. Leave them out.',
        ),
      ],
    })
  })
})

function never(): never {
  throw new Error('The directory has no model.')
}

it('a directory with a mapping as the name of a field is refused, and nothing is printed', async () => {
  const warnings: Error[] = []
  const onWarning = (warning: Error) => void warnings.push(warning)
  process.on('warning', onWarning)
  expect(readAdminDirectory('{{a: 1}: 2}')).toHaveProperty('mistakes')
  // Node.js emits warnings in the next turn.
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', onWarning)
  expect(warnings).toEqual([])
})
