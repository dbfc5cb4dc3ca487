import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/translate/read.ts'
import { scanTopLevel, spliceTopLevel } from '../../src/gateway/translate/splice.ts'

const splice = (text: string, replacements: Record<string, unknown>): string | undefined =>
  spliceTopLevel(Buffer.from(text), replacements)?.bytes.toString()

describe('spliceTopLevel', () => {
  it.each<[string, string, Record<string, unknown>, string]>([
    ['replaces one value and nothing else', '{ "model" : "a" , "n":1.0}', { model: 'b' }, '{ "model" : "b" , "n":1.0}'],
    ['writes a missing member first', '{"n":1}', { model: 'b' }, '{"model":"b","n":1}'],
    ['writes into an empty object', ' { } ', { model: 'b' }, ' {"model":"b" } '],
    ['replaces and writes at once', '{"a":1,"b":2}', { b: 3, c: 4 }, '{"c":4,"a":1,"b":3}'],
    [
      'replaces several in any order',
      '{"a":1,"b":[1,{}],"c":"x"}',
      { c: 0, a: 'long' },
      '{"a":"long","b":[1,{}],"c":0}',
    ],
    ['leaves what is undefined', '{"a":1}', { a: undefined, b: undefined }, '{"a":1}'],
    [
      'looks only at the top',
      '{"x":{"model":"in"},"y":["model"],"model":"a"}',
      { model: 'b' },
      '{"x":{"model":"in"},"y":["model"],"model":"b"}',
    ],
    [
      'is not fooled by quotes and braces in texts',
      '{"x":"\\"}],{\\\\","model":"a"}',
      { model: 'b' },
      '{"x":"\\"}],{\\\\","model":"b"}',
    ],
    ['knows a name written with escapes', '{"mod\\u0065l":"a"}', { model: 'b' }, '{"mod\\u0065l":"b"}'],
    [
      'keeps numbers that JavaScript would change',
      '{"id":12345678901234567890,"f":1.0,"model":"a"}',
      { model: 'b' },
      '{"id":12345678901234567890,"f":1.0,"model":"b"}',
    ],
    ['writes text that needs escapes', '{"model":"a"}', { model: 'b"ü' }, '{"model":"b\\"ü"}'],
    ['reads behind a byte order mark', '\uFEFF{"model":"a"}', { model: 'b' }, '\uFEFF{"model":"b"}'],
  ])('%s', (_, body, replacements, expected) => {
    expect(splice(body, replacements)).toBe(expected)
  })

  it.each(['', '[]', '"model"', '12', 'null', '{"a"}', '{"a":1', '{"a":1,}', '{a:1}', '{,}'])(
    'has nothing to say about %s',
    (text) => {
      expect(spliceTopLevel(Buffer.from(text), { model: 'b' })).toBeNull()
    },
  )

  it('does what parsing, setting and writing does', () => {
    const body = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { noNullPrototype: true })
    fc.assert(
      fc.property(body, fc.jsonValue(), fc.nat({ max: 3 }), fc.boolean(), (object, value, indent, present) => {
        const { ['__proto__']: _, ...rest } = object
        const plain = present ? { ...rest, model: 'before' } : rest
        const bytes = Buffer.from(JSON.stringify(plain, null, indent))
        const spliced = spliceTopLevel(bytes, { model: value })
        expect(JSON.parse(spliced?.bytes.toString() ?? '')).toEqual({
          ...JSON.parse(bytes.toString()),
          model: JSON.parse(JSON.stringify(value)),
        })
      }),
    )
  })

  it('finds every member where it is', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (object) => {
        const bytes = Buffer.from(JSON.stringify(object))
        const members = [...(scanTopLevel(bytes)?.members ?? [])]
        const read = members.map(([name, { start, end }]) => [name, JSON.parse(bytes.toString('utf8', start, end))])
        expect(read).toEqual(Object.entries(readObject(JSON.parse(bytes.toString()))))
      }),
    )
  })
})

describe('names that two readers may take for one', () => {
  it.each<[string, string, string[]]>([
    ['a repeated name', '{"model":"a","model":"b"}', ['model']],
    ['a name repeated behind an escape', '{"model":"a","mod\\u0065l":"b"}', ['model']],
    ['a name repeated far behind', `{"model":"a","x":${JSON.stringify('y'.repeat(5000))},"model":"b"}`, ['model']],
    ['another case, which Go folds', '{"model":"a","Model":"b"}', ['Model']],
    ['letters that fold to ASCII', '{"max_tokens":1,"max_to\u212Aen\u017F":2}', ['max_to\u212Aen\u017F']],
    ['nothing of the sort', '{"model":"a","x":{"model":"b"}}', []],
  ])('reports %s', (_, body, duplicates) => {
    expect(spliceTopLevel(Buffer.from(body), { model: 'c' })?.duplicates).toEqual(duplicates)
  })

  it('reports a member in another case beside which the wanted one would be written', () => {
    expect(spliceTopLevel(Buffer.from('{"MODEL":"b"}'), { model: 'c' })?.duplicates).toEqual(['MODEL'])
  })

  it('sets the value that parsers take, the last', () => {
    expect(JSON.parse(splice('{"model":"a","model":"b"}', { model: 'c' }) ?? '')).toEqual({ model: 'c' })
  })
})
