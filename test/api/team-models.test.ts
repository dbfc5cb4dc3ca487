import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TeamModel, TeamModelList } from '../../generated/openapi.ts'
import { findState } from '../../src/directory/state.ts'
import { startTeamWithModels } from '../support/team-with-models.ts'
import type { TeamWithModels } from '../support/team-with-models.ts'
import { describeAdminRefusals } from '../support/refusals.ts'
import { bearerOf, expectJson, expectOk, messageOf, outcomeOf } from '../support/requests.ts'
import { answersJson, completionOf, startUpstream } from '../support/upstream.ts'
import type { TestUpstream } from '../support/upstream.ts'

const TEAM = '/v1/teams/%40acme%2Fcore'
const MODELS = `${TEAM}/models`
/** The directory sets no default model for this team. */
const OTHER = '/v1/teams/%40acme%2Fother'
const pathOf = (id: string, models = MODELS) => `${models}/${encodeURIComponent(id)}`

const answer = completionOf('fast-1')

let upstream: TestUpstream
let keys: TeamWithModels
beforeAll(async () => {
  upstream = await startUpstream(answersJson(answer))
  keys = await startTeamWithModels({ SVC_VENDORA_UPSTREAM_URL: upstream.url.href })
})
afterAll(async () => {
  await keys[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

const own = (fields: object = {}) => ({
  displayName: 'Own',
  serve: [{ backend: 'vendora', model: 'fast-1' }],
  ...fields,
})
const put = (id: string, fields: object = {}) => keys.send('PUT', pathOf(id), own(fields))
const list = (path = MODELS, by = keys.ada) =>
  expectJson<TeamModelList>('The models', keys.send('GET', path, undefined, by))
const find = async (id: string) => (await list()).models.find((model) => model.id === id)
/** Long enough for a gateway to load the directory again before it answers. */
const afterReload = () => keys.service.clock.advance({ seconds: 11 })
const modelIds = async (by: Record<string, string>) => {
  const { data } = await expectJson<{ data: { id: string }[] }>(
    'GET /v1/models',
    keys.send('GET', '/v1/models', undefined, by),
  )
  return data.map(({ id }) => id)
}

describeAdminRefusals(
  [
    { id: 'listTeamModels', method: 'GET', path: MODELS },
    { id: 'putTeamModel', method: 'PUT', path: pathOf('acme/core/refused'), body: own() },
    { id: 'deleteTeamModel', method: 'DELETE', path: pathOf('acme/core/refused') },
    { id: 'changeTeam', method: 'PATCH', path: TEAM, body: { defaultModel: null } },
  ],
  () => keys,
)

describe('listTeamModels', () => {
  it('200: shows what serves the models of the file, and where the default model comes from', async () => {
    const { defaultModel, defaultModelSource, models } = await list()
    expect([defaultModel, defaultModelSource]).toEqual(['svc/fast', 'file'])
    const fast = models.find(({ id }) => id === 'svc/fast')
    expect(fast).toMatchObject({ source: 'file', aliases: ['quick'], published: true, usable: true })
    expect(fast?.serve[0]).toEqual({ backend: 'vendora', model: 'fast-1', when: 'always', rank: 0, weight: 1 })
    expect(models.find(({ id }) => id === 'svc/hidden')).toMatchObject({ published: false })
  })
})

describe('putTeamModel', () => {
  it('200: adds a model that only its team sees and calls, under the name of the file at the backend', async () => {
    const id = 'acme/core/writer'
    const made = await expectJson<TeamModel>('The model', put(id, { aliases: ['my-writer'] }))
    expect(made).toEqual({
      id,
      displayName: 'Own',
      source: 'admin',
      aliases: ['my-writer'],
      serve: [{ backend: 'vendora', model: 'fast-1', when: 'always', rank: 0, weight: 1 }],
      contextWindow: 200000,
      own: { contextWindow: null, caps: {} },
      published: true,
      usable: true,
      version: expect.any(String),
    })
    afterReload()
    expect(await modelIds(keys.ada)).toEqual(expect.arrayContaining([id, 'my-writer']))
    expect(await modelIds(keys.stranger)).not.toContain(id)
    await expectOk('The call', keys.chat('my-writer'))
    expect(JSON.parse(upstream.last().body.toString())).toMatchObject({ model: 'fast-1' })
    expect(await outcomeOf(await keys.chat('my-writer', keys.stranger))).toBe('403 model_not_allowed')
  })

  it('200: replaces a model, with an audit event for each change', async () => {
    const id = 'acme/core/changed'
    await expectOk('The model', put(id, { aliases: ['first'] }))
    await expectOk('The change', put(id, { aliases: ['second'], displayName: 'Changed' }))
    expect(await find(id)).toMatchObject({ aliases: ['second'], displayName: 'Changed' })
    const events = await keys.auditOf(id)
    expect(events).toMatchObject([
      { kind: 'model.created', ip: '127.0.0.1', details: { aliases: ['first'], serve: ['vendora/fast-1'] } },
      { kind: 'model.changed', details: { aliases: ['second'] } },
    ])
  })

  it('200: keeps what an admin has set and follows the file in the rest, when what was read is sent again', async () => {
    const id = 'acme/core/again'
    const set = { caps: { images: false }, contextWindow: 1000 }
    const { own: before } = await expectJson<TeamModel>('The model', put(id, set))
    expect(before).toEqual(set)
    const { own } = await expectJson<TeamModel>('The change', put(id, { ...before, contextWindow: null }))
    const again = await expectJson<TeamModel>('The same again', put(id, { ...own }))
    expect(again).toMatchObject({ contextWindow: 200000, own: { ...set, contextWindow: null } })
    expect((await find('svc/fast'))?.own).toBe(null)
  })

  it('200: keeps what a model can be asked at one of its backends, and sends calls there by it', async () => {
    const id = 'acme/core/caps'
    const serve = [{ backend: 'vendora', model: 'fast-1', when: 'always', weight: 1, caps: { maxOutput: 100 } }]
    const made = await expectJson<TeamModel>('The model', put(id, { serve, caps: { maxOutput: 200 } }))
    expect(made).toMatchObject({ serve, own: { caps: { maxOutput: 200 } } })
    afterReload()
    const body = { model: id, max_tokens: 300, messages: [{ role: 'user', content: 'Hello' }] }
    await keys.send('POST', '/vendorb/v1/messages', body)
    expect(JSON.parse(upstream.last().body.toString())).toMatchObject({ max_completion_tokens: 100 })
  })

  it('200: makes a model for which an API key can be limited', async () => {
    await expectOk('The model', put('acme/core/keyed'))
    const { key } = await keys.createKey({ models: ['acme/core/keyed'] })
    afterReload()
    expect(await modelIds(bearerOf(key))).toEqual(['acme/core/keyed'])
  })

  it('200: keeps the model when the file is applied again, unless the file has its name or takes its backend', async () => {
    const id = 'acme/core/kept'
    const file = (models: string, team = 'svc/fast') => `
organizations:
  - name: acme
    teams:
      - { name: core, models: [${team}], members: [{ email: ada@example.com, role: admin }] }
      - { name: other, models: [], members: [{ email: stranger@example.com, role: admin }] }
models: [${models}]`
    const fast = '{ id: svc/fast, displayName: Fast, owner: svc, upstreamModel: fast-1 }'
    const named = '{ id: svc/named, displayName: Named, owner: svc, aliases: [acme/core/kept] }'
    const database = keys.service.database.prisma
    const before = await database.directoryState.findFirstOrThrow()
    await expectOk('The model', put(id))
    expect((await database.directoryState.findFirstOrThrow()).version).toBe(before.version + 1)
    for (const [models, team, usable] of [
      [fast, 'svc/fast', true],
      [`${fast}, ${named}`, 'svc/fast', false],
      [fast, '', false],
      [fast, 'svc/fast', true],
    ] as const) {
      await keys.service.applyDirectory(file(models, team))
      expect((await find(id))?.usable).toBe(usable)
      afterReload()
      expect((await modelIds(keys.ada)).includes(id)).toBe(usable)
    }
    // As before, for the other tests.
    await keys.service.applyDirectory(keys.directory)
  })

  it('400: names what is wrong with the model', async () => {
    const refused = await put('acme/core/wrong', { serve: [{ backend: 'vendora', model: 'unknown-1' }] })
    expect(refused.status).toBe(400)
    expect(await messageOf(refused)).toContain(
      'served by vendora as "unknown-1". The file gives it vendora=deep-1, vendora=fast-1',
    )
    expect(await outcomeOf(await put('acme/other/wrong'))).toBe('400 invalid_request')
    expect(await messageOf(await put('acme/core/a b'))).toContain('id: must have 1 to 64 letters, digits')
    expect(await outcomeOf(await put('acme/core/wrong', { caps: { wings: true } }))).toBe('400 invalid_request')
    const unable = [{ backend: 'vendora', model: 'fast-1', caps: { wings: true } }]
    expect(await messageOf(await put('acme/core/wrong', { serve: unable }))).toMatch(
      /^serve\[0\]\.caps\.wings: is not a known field \(known: midSystem, /,
    )
    const serve = [{ backend: 'vendora', model: 'fast-1', weight: 0 }]
    expect(await messageOf(await put('acme/core/wrong', { serve }))).toBe(
      'The field serve.0.weight must be at least 1.',
    )
  })

  it('409: replaces only the version that the request names', async () => {
    const id = 'acme/core/versioned'
    const { version } = await expectJson<TeamModel>('The model', put(id))
    const changed = await expectJson<TeamModel>('The change', put(id, { displayName: 'Theirs', version }))
    expect(changed.version).not.toBe(version)
    expect(await outcomeOf(await put(id, { displayName: 'Mine', version }))).toBe('409 conflict')
    expect(await outcomeOf(await put('acme/core/deleted', { version }))).toBe('409 conflict')
    expect(await find(id)).toEqual(changed)
  })

  it('409: refuses models and names of the directory file', async () => {
    const listed = await put('svc/fast')
    expect(listed.status).toBe(409)
    expect(await messageOf(listed)).toContain('The directory file lists the model svc/fast. Change it there')
    expect(await outcomeOf(await put('acme/core/named', { aliases: ['quick'] }))).toBe('409 conflict')
  })
})

describe('putTeamBackend', () => {
  it('403: says what the operator has to set where admins may add no backends', async () => {
    const body = { dialects: ['chat'], url: 'https://api.vendor.example' }
    const refused = await keys.send('PUT', `${TEAM}/backends/acme%2Fcore%2Fown`, body)
    expect(refused.status).toBe(403)
    expect(await messageOf(refused)).toContain('the operator sets SVC_ADMIN_BACKEND_HOSTS')
  })
})

describe('deleteTeamModel', () => {
  it('200: deletes a model of an admin, with an audit event', async () => {
    const id = 'acme/core/deleted'
    await expectOk('The model', put(id))
    await expectOk('The deletion', keys.send('DELETE', pathOf(id)))
    expect(await find(id)).toBeUndefined()
    expect(await outcomeOf(await keys.send('DELETE', pathOf(id)))).toBe('404 not_found')
    const { prisma } = keys.service.database
    expect(await prisma.auditEvent.count({ where: { subjectId: id, kind: 'model.deleted' } })).toBe(1)
  })

  it('200: deletes a model that an admin chose as default before the directory file set the default', async () => {
    const path = pathOf('acme/other/chosen', `${OTHER}/models`)
    const body = own({ serve: [{ backend: 'vendora', model: 'deep-1' }] })
    const ofFile = '- name: other\n        defaultModel: svc/deep\n'
    await expectOk('The model', keys.send('PUT', path, body, keys.stranger))
    await expectOk('The default', keys.send('PATCH', OTHER, { defaultModel: 'acme/other/chosen' }, keys.stranger))
    await keys.service.applyDirectory(keys.directory.replace('- name: other\n', ofFile))
    await expectOk('The deletion', keys.send('DELETE', path, undefined, keys.stranger))
    await keys.service.applyDirectory(keys.directory)
    expect((await list(`${OTHER}/models`, keys.stranger)).defaultModel).toBe(null)
  })

  it('409: refuses a model of the directory file', async () => {
    expect(await outcomeOf(await keys.send('DELETE', pathOf('svc/fast')))).toBe('409 conflict')
  })
})

describe('changeTeam', () => {
  const setDefault = (defaultModel: string | null) => keys.send('PATCH', OTHER, { defaultModel }, keys.stranger)

  it('200: chooses the default model where the file sets none', async () => {
    await expectOk('The change', setDefault('svc/deep'))
    expect(await list(`${OTHER}/models`, keys.stranger)).toMatchObject({
      defaultModel: 'svc/deep',
      defaultModelSource: 'admin',
    })
    const team = await expectJson<{ defaultModel: string }>(
      'The team',
      keys.send('GET', OTHER, undefined, keys.stranger),
    )
    expect(team.defaultModel).toBe('svc/deep')
    afterReload()
    const messages = [{ role: 'user', content: 'Hello' }]
    await expectOk('A call', keys.send('POST', '/v1/chat/completions', { messages }, keys.stranger))
    expect(JSON.parse(upstream.last().body.toString())).toMatchObject({ model: 'deep-1' })
    await expectOk('No default model', setDefault(null))
  })

  it('200: changes and logs nothing for a default model that is chosen already', async () => {
    const { prisma } = keys.service.database
    const loggedChanges = () => keys.service.log.filter(({ event }) => event === 'team.default_model_changed').length
    const versionAfter = async (id: string | null) => {
      await expectOk('The change', setDefault(id))
      return (await findState(prisma)).version
    }
    const chosen = await versionAfter('svc/deep')
    const logged = loggedChanges()
    expect(await versionAfter('svc/deep')).toBe(chosen)
    expect(loggedChanges()).toBe(logged)
    expect(await versionAfter(null)).toBe(chosen + 1)
    expect(loggedChanges()).toBe(logged + 1)
  })

  it('400: refuses a model that the team does not have', async () => {
    expect(await outcomeOf(await setDefault('svc/fast'))).toBe('400 invalid_request')
    expect(await messageOf(await keys.send('PATCH', OTHER, { defaultModel: 5 }, keys.stranger))).toBe(
      'The field defaultModel must be a text or must be null.',
    )
  })

  it('409: refuses to change what the file sets, and to delete the default model', async () => {
    expect(await outcomeOf(await keys.send('PATCH', TEAM, { defaultModel: 'svc/deep' }))).toBe('409 conflict')
    const id = 'acme/other/own'
    const path = pathOf(id, `${OTHER}/models`)
    const body = own({ serve: [{ backend: 'vendora', model: 'deep-1' }] })
    await expectOk('The model', keys.send('PUT', path, body, keys.stranger))
    await expectOk('The change', setDefault(id))
    expect(await outcomeOf(await keys.send('DELETE', path, undefined, keys.stranger))).toBe('409 conflict')
    await expectOk('No default model', setDefault(null))
    await expectOk('The deletion', keys.send('DELETE', path, undefined, keys.stranger))
  })
})
