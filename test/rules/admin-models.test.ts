import { describe, expect, it } from 'vitest'
import {
  judgeAdminModel,
  MAX_ADMIN_MODELS,
  readAdminModel,
  resolveAdminModel,
} from '../../src/directory/admin-models.ts'
import type { AdminModelContext, AdminModelSettings } from '../../src/directory/admin-models.ts'
import { findModelId, makeNameTable } from '../../src/directory/aliases.ts'
import { writeMistakes } from '../../src/directory/mistakes.ts'
import { readDirectoryFile, toSnapshotModel } from '../../src/directory/rules.ts'
import { withTeams } from '../../src/directory/snapshot.ts'
import type { SnapshotModel } from '../../src/directory/rules.ts'

const createdAt = new Date('2026-11-21T09:00:00Z')

const FILE = `
organizations: []
backends:
  - { name: eu, dialects: [messages], url: https://eu.example }
models:
  - id: vendorb/writer
    displayName: Writer
    owner: vendorb
    aliases: ['claude-*', writer]
    contextWindow: 200000
    caps: { images: true }
    price: { input: 3, output: 15 }
    serve:
      - { backend: vendorb, model: writer-2026 }
      - { backend: eu, model: writer-2026, price: { input: 4, output: 20 } }
      - { backend: local-engine, model: small, when: offline, caps: { images: false, maxOutput: 4096 } }
  - { id: vendora/large, displayName: Large, owner: vendora, upstreamModel: large-2026 }
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: 'qwen3:8b' }
  - { id: vendora/draft, displayName: Draft, owner: vendora, upstreamModel: draft-1, certified: false }
  - { id: vendora/secret, displayName: Secret, owner: vendora, upstreamModel: secret-1, aliases: [hidden] }
`

function readFile(): SnapshotModel[] {
  const read = readDirectoryFile(FILE)
  if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
  return read.directory.models.map((model) => toSnapshotModel(model, createdAt))
}

const all = readFile()
const names = makeNameTable(all)
/** The team may use all models but the last one. */
const fileModels = all.slice(0, -1)

function settingsOf(given: object): AdminModelSettings {
  const read = readAdminModel({ displayName: 'Own', serve: [{ backend: 'vendorb', model: 'writer-2026' }], ...given })
  if ('mistakes' in read) throw new Error(writeMistakes(read.mistakes))
  return read.settings
}

const ID = 'acme/core/own'
const context: AdminModelContext = {
  team: '@acme/core',
  names,
  fileModels,
  ownBackends: ['acme/core/vendor'],
  others: [{ id: 'acme/core/other', aliases: ['mine', 'gpt-*'] }],
}
const judge = (given: object, id = ID, changed: Partial<AdminModelContext> = {}) =>
  judgeAdminModel(id, settingsOf(given), { ...context, ...changed })

describe('the number of backends of a model', () => {
  const entry = { backend: 'vendorb', model: 'writer-2026' }
  /** So many backends: one, and its successors as neighbours. */
  const serveOf = (count: number) => [entry, Array.from({ length: count - 1 }, () => entry)]
  const tooMany = 'serve: must name at most 32 backends, neighbours included'

  it('is at most 32 for a model of an admin', () => {
    expect(settingsOf({ serve: serveOf(32) }).serve).toHaveLength(32)
    const read = readAdminModel({ displayName: 'Own', serve: serveOf(33) })
    expect('mistakes' in read && writeMistakes(read.mistakes)).toContain(tooMany)
  })

  it('is at most 32 for a model of the file', () => {
    const readWith = (count: number) => {
      const model = { id: 'vendorb/writer', displayName: 'Writer', owner: 'vendorb', serve: serveOf(count) }
      return readDirectoryFile(JSON.stringify({ organizations: [], models: [model] }))
    }
    expect(readWith(32)).not.toHaveProperty('mistakes')
    expect(readWith(33)).toMatchObject({ mistakes: [expect.stringContaining(tooMany)] })
  })
})

describe('judgeAdminModel', () => {
  it.each([
    ['what a model of the team is served by', { serve: [{ backend: 'eu', model: 'writer-2026' }] }],
    ['an upstream that serves a model by its name there', { serve: [{ backend: 'vendora', model: 'large-2026' }] }],
    ['the worker', { serve: [{ backend: 'local-engine', model: 'qwen3:8b' }] }],
    [
      'a plan over several models',
      {
        serve: [
          [
            { backend: 'vendorb', model: 'writer-2026', weight: 2 },
            { backend: 'eu', model: 'writer-2026' },
          ],
          { backend: 'local-engine', model: 'small', when: 'offline' },
        ],
      },
    ],
    [
      'any model of a backend of an admin',
      {
        serve: [
          { backend: 'acme/core/vendor', model: 'anything' },
          { backend: 'vendorb', model: 'writer-2026' },
        ],
      },
    ],
    ['names that nothing else has', { aliases: ['own', 'gemini-*', 'c*', 'gpt-5'] }],
  ])('allows %s', (_name, given) => {
    expect(judge(given)).toBeNull()
  })

  it.each([
    ['a model that the file does not give the team', { serve: [{ backend: 'vendora', model: 'secret-1' }] }, 'invalid'],
    ['a model that is not certified', { serve: [{ backend: 'vendora', model: 'draft-1' }] }, 'invalid'],
    ['a model of the worker at an upstream', { serve: [{ backend: 'vendora', model: 'svc/fast' }] }, 'invalid'],
    ['another name at a backend of the team', { serve: [{ backend: 'vendorb', model: 'writer-x' }] }, 'invalid'],
    ['a backend of another team', { serve: [{ backend: 'acme/other/vendor', model: 'anything' }] }, 'invalid'],
    ['an unknown backend', { serve: [{ backend: 'nowhere', model: 'writer-2026' }] }, 'invalid'],
    ['online what the file has for offline only', { serve: [{ backend: 'local-engine', model: 'small' }] }, 'invalid'],
    ['only an offline backend', { serve: [{ backend: 'vendorb', model: 'writer-2026', when: 'offline' }] }, 'invalid'],
    [
      'a price of its own',
      { serve: [{ backend: 'vendorb', model: 'writer-2026', price: { input: 0, output: 0 } }] },
      'invalid',
    ],
    ['a name that is listed twice', { aliases: ['a', 'a'] }, 'invalid'],
    ['an alias of the file, also of a model that the team may not use', { aliases: ['hidden'] }, 'taken'],
    ['the id of a model of the file as an alias', { aliases: ['svc/fast'] }, 'taken'],
    ['a name that a prefix of the file takes', { aliases: ['claude-opus-4-7'] }, 'taken'],
    ['a prefix that a prefix of the file takes', { aliases: ['claude-opus-*'] }, 'taken'],
    ['an alias of another model of the team', { aliases: ['mine'] }, 'taken'],
    ['a prefix of another model of the team', { aliases: ['gpt-*'] }, 'taken'],
    ['the id of another model of the team', { aliases: ['acme/core/other'] }, 'taken'],
  ])('refuses %s', (_name, given, kind) => {
    expect(judge(given)).toMatchObject({ kind })
  })

  it.each([
    ['writer-x', 'at a backend of the team', { backend: 'eu', model: 'writer-x' }, 'eu=writer-2026'],
    [
      'small',
      'at an unknown backend',
      { backend: 'nowhere', model: 'small' },
      'vendorb=writer-2026, eu=writer-2026, local-engine=small, vendora=large-2026, vendorb=large-2026, ' +
        'vendorc=large-2026, local-engine=qwen3:8b',
    ],
  ])('names what is possible instead of %s %s', (_model, _where, entry, hint) => {
    expect(judge({ serve: [entry] })).toMatchObject({
      mistakes: [{ hint: expect.stringContaining(`The file gives it ${hint}. `) }],
    })
  })

  it.each([
    ['acme/other/own', 'invalid'],
    ['own', 'invalid'],
    ['acme/core/', 'invalid'],
    ['acme/core/a b', 'invalid'],
    ['acme/core/a*', 'invalid'],
    ['acme/core/a/b', 'invalid'],
    ['svc/fast', 'taken'],
    // It does not say whether the file has a model that the team may not use.
    ['vendora/secret', 'invalid'],
    ['vendora/unknown', 'invalid'],
  ])('refuses the id %s', (id, kind) => {
    expect(judge({}, id)).toMatchObject({ kind })
  })

  it('allows a limited number of models', () => {
    const others = Array.from({ length: MAX_ADMIN_MODELS }, (_, i) => ({ id: `acme/core/m${i}`, aliases: [] }))
    expect(judge({}, ID, { others })).toMatchObject({ kind: 'taken' })
    expect(judge({}, ID, { others: others.slice(1) })).toBeNull()
  })
})

describe('readAdminModel', () => {
  it.each([
    ['an unknown field', { surprise: 1 }, 'surprise: is not a known field'],
    ['no backend', { serve: [] }, 'serve: must name at least one backend'],
    ['a control character', { displayName: 'A\u0007B' }, 'displayName: must have visible characters only'],
    ['text that turns around', { displayName: 'A\u202eB' }, 'displayName: must have visible characters only'],
    ['unknown caps', { caps: { wings: true } }, 'caps'],
    ['an alias with a space', { aliases: ['a b'] }, 'aliases[0]: must be a name'],
    ['NUL', { serve: [{ backend: 'vendorb', model: 'a\0b' }] }, 'serve[0].model: must have no control characters'],
    ['half a character', { serve: [{ backend: 'vendorb', model: 'a\ud800' }] }, 'must have no control characters'],
    ['a backend without a model', { serve: [{ backend: 'vendorb' }] }, 'serve[0].model: is missing'],
  ])('names the mistake: %s', (_name, given, mistake) => {
    const read = readAdminModel({ displayName: 'Own', serve: [{ backend: 'vendorb', model: 'writer-2026' }], ...given })
    expect('mistakes' in read && writeMistakes(read.mistakes)).toContain(mistake)
  })
})

describe('resolveAdminModel', () => {
  const own = (given: object = {}) => ({ ...settingsOf(given), id: ID, createdAt })

  it('takes the price and what the model can do from the file', () => {
    const serve = [
      { backend: 'eu', model: 'writer-2026' },
      { backend: 'vendora', model: 'large-2026' },
    ]
    expect(resolveAdminModel(own({ serve, caps: { pdf: true } }), context)).toMatchObject({
      id: ID,
      owner: 'vendorb',
      contextWindow: 200_000,
      caps: { images: true, pdf: true },
      serve: [
        { backend: 'eu', price: { input: 4 }, pricedAs: { id: 'vendorb/writer', owner: 'vendorb' } },
        { backend: 'vendora', pricedAs: { id: 'vendora/large', owner: 'vendora' } },
      ],
    })
  })

  it('has at each backend the caps that the file gives that one, unless an admin has set others', () => {
    const serve = [
      { backend: 'vendorb', model: 'writer-2026' },
      { backend: 'acme/core/vendor', model: 'anything' },
      { backend: 'vendora', model: 'large-2026' },
      { backend: 'local-engine', model: 'small', when: 'offline', caps: { maxOutput: 2048 } },
    ]
    const resolved = resolveAdminModel(own({ serve, caps: { pdf: true } }), context)
    expect(resolved?.serve.map(({ caps }) => caps)).toEqual([
      { images: true, pdf: true },
      { images: true, pdf: true },
      { pdf: true },
      { images: false, pdf: true, maxOutput: 2048 },
    ])
  })

  it('inherits neither price nor caps at a backend of an admin, of which the file says nothing', () => {
    const serve = [
      { backend: 'acme/core/vendor', model: 'anything' },
      { backend: 'eu', model: 'writer-2026' },
    ]
    const resolved = resolveAdminModel(own({ serve }), context)
    expect(resolved).toMatchObject({ owner: 'acme', contextWindow: null, caps: {}, verificationState: 'unverified' })
    expect(resolved?.serve[0]).toEqual({
      backend: 'acme/core/vendor',
      model: 'anything',
      when: 'always',
      rank: 0,
      weight: 1,
      caps: {},
    })
    expect(resolved?.serve[1]).toMatchObject({ price: { input: 4 } })
    expect(resolveAdminModel(own({ serve: serve.slice(0, 1) }), { ...context, ownBackends: [] })).toBeNull()
  })

  it('loses the backends that the file takes from the team, and is not served without any', () => {
    const model = own({
      serve: [
        { backend: 'vendorb', model: 'writer-2026' },
        { backend: 'vendora', model: 'large-2026' },
      ],
    })
    const backendsWith = (left: readonly SnapshotModel[]) =>
      resolveAdminModel(model, { ...context, fileModels: left })?.serve.map(({ backend }) => backend)
    expect(backendsWith(fileModels)).toEqual(['vendorb', 'vendora'])
    expect(backendsWith(fileModels.slice(1))).toEqual(['vendora'])
    expect(backendsWith(fileModels.slice(2))).toBeUndefined()
  })

  it('loses aliases that the file has, and is not served while a name of the file matches its id', () => {
    const model = own({ aliases: ['own', 'later'] })
    const withAlias = (...aliases: string[]) => makeNameTable([...all, { id: 'svc/new', aliases }])
    expect(resolveAdminModel(model, { ...context, names: withAlias('later') })?.aliases).toEqual(['own'])
    expect(resolveAdminModel(model, { ...context, names: withAlias('acme/*') })).toBeNull()
  })

  it('is found by its names only in its team, and after the names of the file', () => {
    const team = { organization: 'acme', name: 'core', defaultModel: null, timeZone: 'UTC', models: fileModels }
    const model = own({ aliases: ['c*', 'own'] })
    const { teams } = withTeams(
      [
        { ...team, adminModels: [model] },
        { ...team, name: 'other' },
      ],
      all,
    )
    const find = (of: string, name: string) => {
      const found = teams.get(of)
      return found ? findModelId(found.names, name) : null
    }
    expect(['own', 'chat', 'claude-opus', ID].map((name) => find('@acme/core', name))).toEqual([
      ID,
      ID,
      'vendorb/writer',
      ID,
    ])
    expect(['own', 'chat', 'claude-opus', ID].map((name) => find('@acme/other', name))).toEqual([
      null,
      null,
      'vendorb/writer',
      null,
    ])
  })
})
