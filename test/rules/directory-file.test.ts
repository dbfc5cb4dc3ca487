import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { makeSecretReader } from '../../src/config/secrets.ts'
import { readDirectoryFile, toSnapshotModel } from '../../src/directory/rules.ts'
import { Secret } from '../../src/kernel/secret.ts'

const VALID = `
organizations:
  - name: acme
    teams:
      - name: core
        defaultModel: svc/fast
        models: [svc/fast, vendora/large]
        members:
          - { email: " Ada@Example.com ", role: admin }
          - email: bob@example.com
      - { name: empty, timeZone: Europe/Berlin }
models:
  - { id: svc/fast, displayName: Fast, owner: svc, backendModel: "qwen3:8b" }
  - id: vendora/large
    displayName: Large
    owner: vendora
    upstreamModel: large-2026
    certified: false
    published: false
    verificationState: unknown
`

function mistakesIn(text: string): string[] {
  const read = readDirectoryFile(text)
  return 'mistakes' in read ? read.mistakes : []
}

describe('a file without mistakes', () => {
  it('is read, and what it leaves out has its default', () => {
    expect(readDirectoryFile(VALID)).toEqual({
      directory: {
        organizations: [
          {
            name: 'acme',
            teams: [
              {
                name: 'core',
                defaultModel: 'svc/fast',
                timeZone: 'UTC',
                models: ['svc/fast', 'vendora/large'],
                members: [
                  { email: 'ada@example.com', role: 'admin' },
                  { email: 'bob@example.com', role: 'member' },
                ],
              },
              { name: 'empty', defaultModel: null, timeZone: 'Europe/Berlin', models: [], members: [] },
            ],
          },
        ],
        models: [
          {
            id: 'svc/fast',
            displayName: 'Fast',
            owner: 'svc',
            aliases: [],
            backendModel: 'qwen3:8b',
            upstreamModel: null,
            serve: [],
            contextWindow: null,
            caps: {},
            price: null,
            certified: true,
            published: true,
            verificationState: 'trusted',
          },
          {
            id: 'vendora/large',
            displayName: 'Large',
            owner: 'vendora',
            aliases: [],
            backendModel: null,
            upstreamModel: 'large-2026',
            serve: [],
            contextWindow: null,
            caps: {},
            price: null,
            certified: false,
            published: false,
            verificationState: 'unknown',
          },
        ],
        backends: [],
      },
    })
  })

  it('may be without members when it says so', () => {
    expect(readDirectoryFile('organizations: []')).toEqual({
      directory: { organizations: [], models: [], backends: [] },
    })
  })

  it('is the example that comes with the service', () => {
    const example = readFileSync(new URL('../../prisma/example-directory.yaml', import.meta.url), 'utf8')
    expect(mistakesIn(example)).toEqual([])
  })

  it('may list one person in several teams, and one team name in several organizations', () => {
    const org = (name: string) =>
      `  - { name: ${name}, teams: [{ name: core, members: [{ email: ada@example.com }] }] }\n`
    expect(mistakesIn(`organizations:\n${org('acme')}${org('globex')}`)).toEqual([])
  })
})

/** The valid file with one line of it replaced; the line's number is the same in both. */
function withLine(from: string, to: string): string {
  expect(VALID).toContain(from)
  return VALID.replace(from, to)
}

describe('a mistake is named with its line and its field', () => {
  it.each<[string, string, string, string]>([
    [
      'an organization that is no name',
      'name: acme',
      'name: Acme Inc',
      'line 3, organizations[0].name: must be 1 to 64 of a-z, 0-9, ".", "_" and "-", and begin with a letter or digit',
    ],
    [
      'a team that is no name',
      'name: core',
      'name: .core',
      'line 5, organizations[0].teams[0].name: must be 1 to 64 of a-z, 0-9, ".", "_" and "-", and begin with a letter or digit',
    ],
    [
      'a team without a name',
      '- name: core\n        defaultModel',
      '- defaultModel',
      'line 5, organizations[0].teams[0].name: is missing',
    ],
    ['a name that is a number', 'name: core', 'name: 7', 'line 5, organizations[0].teams[0].name: must be text'],
    [
      'a default that is not of the team',
      'defaultModel: svc/fast',
      'defaultModel: vendora/larg',
      'line 6, organizations[0].teams[0].defaultModel: "vendora/larg" is not one of the team\'s models',
    ],
    [
      'a model that is not declared',
      '[svc/fast, vendora/large]',
      '[svc/fast, vendora/huge]',
      'line 7, organizations[0].teams[0].models[1]: names a model "vendora/huge" that is not listed under models',
    ],
    [
      'a model listed twice',
      '[svc/fast, vendora/large]',
      '[svc/fast, svc/fast]',
      'line 7, organizations[0].teams[0].models[1]: "svc/fast" is listed twice',
    ],
    [
      'models that are no list',
      '[svc/fast, vendora/large]',
      'svc/fast',
      'line 7, organizations[0].teams[0].models: must be a list',
    ],
    [
      'a role that is none',
      'role: admin',
      'role: owner',
      'line 9, organizations[0].teams[0].members[0].role: must be member or admin',
    ],
    [
      'an address that is none',
      'bob@example.com',
      'bob',
      'line 10, organizations[0].teams[0].members[1].email: "bob" is not an email address',
    ],
    [
      'one person twice, whatever the case',
      'bob@example.com',
      'ADA@example.com',
      'line 10, organizations[0].teams[0].members[1].email: "ada@example.com" is listed twice',
    ],
    [
      'a member that is no mapping',
      '- email: bob@example.com',
      '- bob@example.com',
      'line 10, organizations[0].teams[0].members[1]: must be a mapping',
    ],
    [
      'an unknown key',
      '- email: bob@example.com',
      '- { email: bob@example.com, rol: admin }',
      'line 10, organizations[0].teams[0].members[1].rol: is not a known field (known: email, role)',
    ],
    [
      'a second team of that name',
      'name: empty',
      'name: core',
      'line 11, organizations[0].teams[1].name: "core" is listed twice',
    ],
    [
      'a time zone that is none',
      'Europe/Berlin',
      'Berlin',
      'line 11, organizations[0].teams[1].timeZone: must be the IANA name of a time zone, such as Europe/Berlin',
    ],
    [
      'an id without a namespace',
      'id: svc/fast',
      'id: fast',
      'line 13, models[0].id: must have the form namespace/name',
    ],
    ['an alias that is no text', '"qwen3:8b"', '8', 'line 13, models[0].backendModel: must be text'],
    [
      'a second model of that id',
      'id: vendora/large',
      'id: svc/fast',
      'line 14, models[1].id: "svc/fast" is listed twice',
    ],
    ['a model without an owner', '    owner: vendora\n', '', 'line 14, models[1].owner: is missing'],
    [
      'a flag that is neither',
      'certified: false',
      'certified: nope',
      'line 18, models[1].certified: must be true or false',
    ],
  ])('%s', (_what, from, to, mistake) => {
    expect(mistakesIn(withLine(from, to))).toContain(mistake)
  })

  it('a revision that the database cannot keep, such as a time', () => {
    const mistake = 'line 1, revision: must be at most 2147483647'
    expect(mistakesIn('revision: 202611231200\norganizations: []\n')).toEqual([mistake])
    expect(mistakesIn('revision: 2147483647\norganizations: []\n')).toEqual([])
  })

  it('an organization listed twice', () => {
    expect(mistakesIn('organizations:\n  - name: acme\n  - name: acme\n')).toEqual([
      'line 3, organizations[1].name: "acme" is listed twice',
    ])
  })

  it('an unknown key at the top, with its own line', () => {
    expect(mistakesIn('organizations: []\nmodels: []\nteams: []\n')).toEqual([
      'line 3, teams: is not a known field (known: revision, organizations, models, backends)',
    ])
  })
})

describe('a file that is not a directory at all is refused', () => {
  it.each([
    ['empty', '', 'line 1: the file is empty'],
    ['nothing but comments', '# soon\n', 'line 1: the file is empty'],
    ['a list', '- organizations\n', 'line 1: must be a mapping'],
    ['a word', 'organizations', 'line 1: must be a mapping'],
    ['without organizations', 'models: []', 'line 1, organizations: is missing'],
    ['organizations without a value', 'organizations:\n', 'line 1, organizations: must be a list'],
  ])('%s', (_what, text, mistake) => {
    expect(mistakesIn(text)).toEqual([mistake])
  })

  it.each([
    ['broken YAML', 'organizations:\n  - name: [acme\n', /^line \d: /],
    ['a key twice', 'organizations: []\norganizations: []\n', /^line 2: Map keys must be unique/],
    ['an unknown tag', 'organizations: !secret []\n', /^line 1: Unresolved tag/],
    [
      'two documents',
      'organizations: []\n---\norganizations: []\n',
      /^line 2: must be one document, so remove this line "---"/,
    ],
    ['an alias of nothing', 'revision: &it 1\nmodels: []\norganizations: *nobody\n', /^line 3: Unresolved alias/],
    ['an alias above its anchor', 'revision: 1\nmodels: *all\norganizations: &all []\n', /^line 2: Unresolved alias/],
    [
      'aliases that unfold without end',
      `a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [${'*a, '.repeat(9)}]\nc: &c [${'*b, '.repeat(9)}]\nd: &d [${'*c, '.repeat(9)}]\norganizations: [*d, *d, *d]\n`,
      /^line 1: Excessive alias count/,
    ],
  ])('%s', (_what, text, mistake) => {
    expect(mistakesIn(text)).toEqual([expect.stringMatching(mistake)])
  })
})

it('reports all mistakes together, from the top down', () => {
  const text = `
organizations:
  - name: Acme
    teams:
      - name: core
        defaultModel: svc/slow
        models: [svc/fast, svc/none]
        members: [{ email: nobody }, { email: a@b.test, role: boss }]
        colour: red
models:
  - { id: svc/fast, owner: svc, published: 1 }
`
  expect(mistakesIn(text)).toEqual([
    expect.stringMatching(/^line 3, organizations\[0\]\.name: /),
    expect.stringMatching(/^line 6, organizations\[0\]\.teams\[0\]\.defaultModel: /),
    expect.stringMatching(/^line 7, organizations\[0\]\.teams\[0\]\.models\[1\]: /),
    expect.stringMatching(/^line 8, organizations\[0\]\.teams\[0\]\.members\[0\]\.email: /),
    expect.stringMatching(/^line 8, organizations\[0\]\.teams\[0\]\.members\[1\]\.role: /),
    expect.stringMatching(/^line 9, organizations\[0\]\.teams\[0\]\.colour: /),
    expect.stringMatching(/^line 11, models\[0\]\.displayName: is missing/),
    expect.stringMatching(/^line 11, models\[0\]\.published: /),
  ])
})

it('does not take what is wrong in one place for a mistake in another', () => {
  const text =
    'organizations: [{ name: acme, teams: [{ name: core, models: [svc/fast] }] }]\nmodels: [7, { id: svc/fast, displayName: Fast, owner: svc }]\n'
  expect(mistakesIn(text)).toEqual(['line 2, models[0]: must be a mapping'])
})

it.each(['__proto__', 'constructor', 'toString'])('treats the key %s as any unknown field', (key) => {
  expect(mistakesIn(`organizations: []\n${key}: { a: 1 }\n`)).toEqual([
    expect.stringContaining(`line 2, ${key}: is not a known field (known: `),
  ])
  expect({}).not.toHaveProperty('a')
})

describe('backends and the models that they serve', () => {
  const SERVED = `organizations: []
backends:
  - { name: eu, dialects: [messages], url: "https://eu.example.com", credential: { env: EU_TOKEN, as: x-api-key } }
  - { name: vendora, dialects: [chat] }
models:
  - id: vendorb/writer
    displayName: Writer
    owner: vendorb
    contextWindow: 200000
    caps: { images: false }
    serve:
      - { backend: eu, model: writer-2026 }
      - { backend: local-engine, model: "qwen3:8b", when: offline }
`
  const changed = (from: string, to: string) => {
    expect(SERVED).toContain(from)
    return SERVED.replace(from, to)
  }

  it('are read, with the source of a credential and without its value', () => {
    expect(readDirectoryFile(SERVED, ({ env }) => ({ secret: new Secret(env ?? '') }))).toMatchObject({
      directory: {
        backends: [
          {
            name: 'eu',
            dialects: ['messages'],
            url: 'https://eu.example.com',
            credential: { env: 'EU_TOKEN', file: null, as: 'x-api-key' },
          },
          { name: 'vendora', dialects: ['chat'], url: null, credential: null },
        ],
        models: [
          {
            contextWindow: 200_000,
            caps: { images: false },
            serve: [
              { backend: 'eu', model: 'writer-2026', when: 'always', rank: 0, weight: 1 },
              { backend: 'local-engine', model: 'qwen3:8b', when: 'offline', rank: 1, weight: 1 },
            ],
          },
        ],
      },
    })
  })

  it.each([
    ['/v1beta/openai', '/v1beta/openai'],
    ['/paas/v4/', '/paas/v4'],
    ['/', ''],
  ])('may have the base path %s instead of /v1', (given, basePath) => {
    const text = changed('https://eu.example.com"', `https://eu.example.com", basePath: ${given}`)
    expect(readDirectoryFile(text, ({ env }) => ({ secret: new Secret(env ?? '') }))).toMatchObject({
      directory: { backends: [{ basePath }, { basePath: '/v1' }] },
    })
  })

  it.each(['v4', '/../v4', '/a?b', '/a//b', '""'])('may not have the base path %s', (given) => {
    expect(mistakesIn(changed('https://eu.example.com"', `https://eu.example.com", basePath: ${given}`))).toEqual([
      'line 3, backends[0].basePath: must be a path such as /v1beta/openai',
    ])
  })

  it.each<[string, string, string, string]>([
    [
      'a base path of a backend of the settings',
      '{ name: vendora,',
      '{ name: vendora, basePath: /v4,',
      'line 4, backends[1].basePath: must be left out: the settings beside SVC_VENDORA_UPSTREAM_URL describe "vendora"',
    ],
    [
      'an unknown backend',
      'backend: eu,',
      'backend: us,',
      'line 12, models[0].serve[0].backend: names a backend "us" that does not exist',
    ],
    [
      'an unknown dialect',
      '[messages]',
      '[mesages]',
      'line 3, backends[0].dialects[0]: must be one of chat, responses, messages',
    ],
    ['no dialect', '[messages]', '[]', 'line 3, backends[0].dialects: must name at least one dialect'],
    [
      'a URL with its version',
      'eu.example.com',
      'eu.example.com/v1',
      'line 3, backends[0].url: must be an http:// or https:// URL without credentials, query and fragment, and without the /v1 at its end',
    ],
    [
      'a URL with another version',
      'eu.example.com',
      'eu.example.com/api/paas/v4',
      'line 3, backends[0].url: must not end in a version: calls would go to /v1 after it. Move the path to basePath, such as /api/v4',
    ],
    ['no URL', ', url: "https://eu.example.com"', '', 'line 3, backends[0].url: is missing'],
    [
      'a URL of a backend of the settings',
      '{ name: vendora,',
      '{ name: vendora, url: "https://a.example.com",',
      'line 4, backends[1].url: must be left out: the settings beside SVC_VENDORA_UPSTREAM_URL describe "vendora"',
    ],
    [
      'the name of the worker',
      'name: vendora',
      'name: local-engine',
      'line 4, backends[1].name: "local-engine" is the local worker, which the settings describe',
    ],
    ['a reserved name', 'name: vendora', 'name: gateway', 'line 4, backends[1].name: "gateway" is a reserved name'],
    ['a name listed twice', 'name: vendora,', 'name: eu,', 'line 4, backends[1].name: "eu" is listed twice'],
    [
      'a credential without a source',
      'env: EU_TOKEN, ',
      '',
      'line 3, backends[0].credential: must have either env or file',
    ],
    [
      'a credential with two sources',
      'env: EU_TOKEN, ',
      'env: EU_TOKEN, file: /run/token, ',
      'line 3, backends[0].credential: must have either env or file',
    ],
    [
      'an unknown header',
      'x-api-key',
      'basic',
      'line 3, backends[0].credential.as: must be bearer, or the name of a header such as x-api-key',
    ],
    [
      'a further header that is no header',
      'url: "https://eu',
      'headers: { "a b": c }, url: "https://eu',
      'line 3, backends[0].headers.a b: must be the name of a header, such as x-api-key',
    ],
    [
      'a further header that the gateway sets',
      'url: "https://eu',
      'headers: { Content-Type: text/plain }, url: "https://eu',
      'line 3, backends[0].headers.Content-Type: must be another header, because the gateway sets this one',
    ],
    [
      'a further header with a line break',
      'url: "https://eu',
      'headers: { x-team: "a\\nb" }, url: "https://eu',
      'line 3, backends[0].headers.x-team: must have 1 to 1000 printable ASCII characters',
    ],
    [
      'further headers of a backend of the settings',
      '{ name: vendora,',
      '{ name: vendora, headers: { x-team: a },',
      'line 4, backends[1].headers: must be left out: the settings beside SVC_VENDORA_UPSTREAM_URL describe "vendora"',
    ],
    ['an unknown ability', 'images', 'image', 'line 10, models[0].caps.image: is not a known field (known: midSystem,'],
    [
      'an unknown ability at a backend',
      'when: offline',
      'caps: { image: true }',
      'line 13, models[0].serve[1].caps.image: is not a known field (known: midSystem,',
    ],
    ['a window that is no number', '200000', 'large', 'line 9, models[0].contextWindow: must be a whole number'],
    [
      'a first backend that serves offline only',
      'model: writer-2026',
      'model: writer-2026, when: offline',
      'line 12, models[0].serve[0].when: must not be offline for the first backend',
    ],
  ])('refuse %s', (_name, from, to, mistake) => {
    expect(mistakesIn(changed(from, to)).join('\n')).toContain(mistake)
  })

  const NEIGHBOURS = changed(
    '- { backend: eu, model: writer-2026 }',
    `- - { backend: eu, model: writer-2026, weight: 3 }
        - { backend: vendora, model: writer-2026 }`,
  )

  it('may be asked other things than the model in general: each of their caps overrides that of the model', () => {
    const caps = '{ images: true, maxOutput: 4096 }'
    const read = readDirectoryFile(changed('when: offline', `when: offline, caps: ${caps}`))
    if ('mistakes' in read) throw new Error(read.mistakes.join('\n'))
    const [model] = read.directory.models
    expect(model?.serve.map((entry) => entry.caps)).toEqual([undefined, { images: true, maxOutput: 4096 }])
    const snapshot = model && toSnapshotModel({ ...model, caps: { images: false, pdf: true } }, new Date(0))
    expect(snapshot).toMatchObject({ caps: { images: false, pdf: true } })
    expect(snapshot?.serve.map((entry) => entry.caps)).toEqual([
      { images: false, pdf: true },
      { images: true, pdf: true, maxOutput: 4096 },
    ])
  })

  it('may be neighbours, which have the same rank', () => {
    const read = readDirectoryFile(NEIGHBOURS)
    expect('directory' in read && read.directory.models[0]?.serve).toEqual([
      { backend: 'eu', model: 'writer-2026', when: 'always', rank: 0, weight: 3 },
      { backend: 'vendora', model: 'writer-2026', when: 'always', rank: 0, weight: 1 },
      { backend: 'local-engine', model: 'qwen3:8b', when: 'offline', rank: 1, weight: 1 },
    ])
  })

  it.each<[string, string, string, string]>([
    [
      'an unknown one',
      'backend: vendora, m',
      'backend: us, m',
      'line 13, models[0].serve[0][1].backend: names a backend "us" that does not exist',
    ],
    ['a wrong weight', 'weight: 3', 'weight: 0', 'line 12, models[0].serve[0][0].weight: must be at least 1'],
    [
      'a wrong ability',
      'weight: 3',
      'caps: { maxOutput: many }',
      'line 12, models[0].serve[0][0].caps.maxOutput: must be a whole number',
    ],
    [
      'an unknown field',
      'weight: 3',
      'wait: 3',
      'line 12, models[0].serve[0][0].wait: is not a known field (known: backend, model, when, weight, caps, price)',
    ],
    [
      'none',
      '- { backend: local-engine',
      '- []\n      - { backend: local-engine',
      'line 14, models[0].serve[1]: must not be empty',
    ],
    [
      'one for the time without a network at the first place',
      'weight: 3',
      'when: offline',
      'line 12, models[0].serve[0][0].when: must not be offline for the first backend',
    ],
  ])('refuse neighbours with %s', (_name, from, to, mistake) => {
    expect(NEIGHBOURS).toContain(from)
    expect(mistakesIn(NEIGHBOURS.replace(from, to))).toContain(mistake)
  })

  it('tell of unset credentials together with all other mistakes', () => {
    const read = readDirectoryFile(changed('backend: eu,', 'backend: us,'), makeSecretReader({}))
    expect(read).toEqual({
      mistakes: [
        'line 3, backends[0].credential: names the environment variable EU_TOKEN, which is not set',
        'line 12, models[0].serve[0].backend: names a backend "us" that does not exist',
      ],
    })
  })
})
