import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findModelId, makeNameTable } from '../../src/directory/aliases.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'

const MODELS = [
  { id: 'v/any', aliases: ['claude-*'] },
  { id: 'v/opus', aliases: ['claude-opus-4-7', 'claude-opus-*', 'v/opus-*'] },
  { id: 'v/haiku', aliases: ['claude-opus-4-7-mini', 'claude-haiku-*'] },
  { id: 'v/opus-next', aliases: [] },
]

describe('what a name means', () => {
  it.each([
    ['an id', 'v/opus', 'v/opus'],
    ['an id before a prefix that fits it', 'v/opus-next', 'v/opus-next'],
    ['a whole alias', 'claude-opus-4-7', 'v/opus'],
    ['a whole alias before a prefix that fits it', 'claude-opus-4-7-mini', 'v/haiku'],
    ['a prefix', 'claude-haiku-4-5-20261001', 'v/haiku'],
    ['the longer one of two prefixes', 'claude-opus-5', 'v/opus'],
    ['the shorter prefix where the longer one does not fit', 'claude-sonnet-5', 'v/any'],
    ['a prefix alone', 'claude-', 'v/any'],
    ['nothing before the end of a prefix', 'claude', null],
    ['nothing in another case', 'Claude-opus-4-7', null],
    ['nothing with a star in the name', 'opus*', null],
    ['nothing without a name', '', null],
  ])('is %s', (_what, name, id) => {
    expect(findModelId(makeNameTable(MODELS), name)).toBe(id)
  })

  it('does not depend on the order of models and aliases', () => {
    const shuffled = fc.shuffledSubarray(MODELS, { minLength: MODELS.length })
    fc.assert(
      fc.property(
        shuffled,
        fc.constantFrom('claude-opus-5', 'claude-haiku-5', 'claude-x', 'v/opus-2'),
        (models, name) => {
          const reversed = models.map(({ id, aliases }) => ({ id, aliases: aliases.toReversed() }))
          const id = findModelId(makeNameTable(MODELS), name)
          expect(id).not.toBeNull()
          expect(findModelId(makeNameTable(reversed), name)).toBe(id)
        },
      ),
    )
  })
})

describe('the aliases of a directory file', () => {
  const mistakesOf = (first: string, second: string) => {
    const model = (id: string, aliases: string) => `  - { id: ${id}, displayName: M, owner: v, aliases: ${aliases} }`
    const read = readDirectoryFile(`organizations: []\nmodels:\n${model('v/a', first)}\n${model('v/b', second)}\n`)
    return 'mistakes' in read ? read.mistakes : []
  }

  it.each([
    ['names and prefixes of several models', '[claude-opus-4-7, "claude-opus-*"]', '["claude-*", "v/*"]'],
    ['empty lists', '[]', '[]'],
  ])('may be %s', (_what, first, second) => {
    expect(mistakesOf(first, second)).toEqual([])
  })

  it.each([
    ['the id of another model', '[v/b]', '[]', 'line 3, models[0].aliases[0]: "v/b" is the id of a model'],
    ['the id of the same model', '[x, v/a]', '[]', 'line 3, models[0].aliases[1]: "v/a" is the id of a model'],
    ['one name for two models', '[x]', '[y, x]', 'line 4, models[1].aliases[1]: "x" is listed twice'],
    ['one name twice', '[x, x]', '[]', 'line 3, models[0].aliases[1]: "x" is listed twice'],
    ['one prefix for two models', '["x-*"]', '["x-*"]', 'line 4, models[1].aliases[0]: "x-*" is listed twice'],
    ...['"*"', '"*-x"', '"a*b"', '"a b"', '""'].map((given) => [
      given,
      `[${given}]`,
      '[]',
      'line 3, models[0].aliases[0]: must be a name, or a prefix of names followed by "*"',
    ]),
    ['a number', '[7]', '[]', 'line 3, models[0].aliases[0]: must be text'],
    ['one text', 'x', '[]', 'line 3, models[0].aliases: must be a list'],
  ])('may not be %s', (_what, first = '', second = '', mistake) => {
    expect(mistakesOf(first, second)).toEqual([mistake])
  })
})
