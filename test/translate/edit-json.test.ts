import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readObject } from '../../src/gateway/dialects/json/read-json.ts'
import { removeMembers, renameMember, scanTopLevel, setMembers } from '../../src/gateway/dialects/json/edit-json.ts'
import { character } from '../support/arbitraries.ts'

const changed = (text: string, values: Record<string, unknown>): string | undefined =>
  setMembers(Buffer.from(text), values)?.toString()

describe('removeMembers', () => {
  it.each<[string, string, string]>([
    ['the first member', '{ "a" : 1 , "c":{"a":2} }', '{ "c":{"a":2} }'],
    ['a member between others', '{"c":1.0,"a":[1,"x"],"d":2}', '{"c":1.0,"d":2}'],
    ['the last members', '{"c":1,"a":1 , "b":"}"\n}', '{"c":1\n}'],
    ['all members', ' {"a":1,"b":2} ', ' {} '],
    ['a name written with escapes', '{"\\u0061":1,"c":2}', '{"c":2}'],
    ['none, where none of them is there', '{"c":1}', '{"c":1}'],
    ['none, where a name is there twice', '{"a":1,"c":1,"c":2}', '{"a":1,"c":1,"c":2}'],
    ['none of an empty object', '{ }', '{ }'],
    ['none of a list', '["a"]', '["a"]'],
  ])('removes %s', (_name, text, expected) => {
    expect(removeMembers(Buffer.from(text), ['a', 'b']).toString()).toBe(expected)
  })
})

describe('renameMember', () => {
  it.each<[string, string, string]>([
    [
      'a member between others',
      '{"c":1.0, "a" : 12345678901234567890,"d":2}',
      '{"c":1.0,"b":12345678901234567890,"d":2}',
    ],
    ['a name written with escapes', '{ "\\u0061":1 }', '{"b":1 }'],
    ['none, where it is not there', '{"c":{"a":1}}', '{"c":{"a":1}}'],
    ['none, where a name is there twice', '{"a":1,"c":1,"c":2}', '{"a":1,"c":1,"c":2}'],
  ])('renames %s', (_name, text, expected) => {
    expect(renameMember(Buffer.from(text), 'a', 'b').toString()).toBe(expected)
  })
})

describe('setMembers', () => {
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
      'changes top-level members only',
      '{"x":{"model":"in"},"y":["model"],"model":"a"}',
      { model: 'b' },
      '{"x":{"model":"in"},"y":["model"],"model":"b"}',
    ],
    [
      'ignores quotes and braces inside texts',
      '{"x":"\\"}],{\\\\","model":"a"}',
      { model: 'b' },
      '{"x":"\\"}],{\\\\","model":"b"}',
    ],
    ['finds a name written with escapes', '{"mod\\u0065l":"a"}', { model: 'b' }, '{"mod\\u0065l":"b"}'],
    [
      'keeps numbers that JavaScript would change',
      '{"id":12345678901234567890,"f":1.0,"model":"a"}',
      { model: 'b' },
      '{"id":12345678901234567890,"f":1.0,"model":"b"}',
    ],
    ['writes text that needs escapes', '{"model":"a"}', { model: 'b"ü' }, '{"model":"b\\"ü"}'],
    ['reads behind a byte order mark', '\uFEFF{"model":"a"}', { model: 'b' }, '\uFEFF{"model":"b"}'],
  ])('%s', (_, body, values, expected) => {
    expect(changed(body, values)).toBe(expected)
  })

  it.each(['', '\\', '\\\\', '"', '\\"', '"\\', '\\\\"'])('finds the end of a text that ends with %s', (end) => {
    for (let length = 80; length < 220; length++) {
      const text = JSON.stringify('x'.repeat(length) + end)
      expect(changed(`{"x":${text},"model":"a"}`, { model: 'b' })).toBe(`{"x":${text},"model":"b"}`)
    }
  })

  it.each(['', '[]', '"model"', '12', 'null', '{"a"}', '{"a":1', '{"a":1,}', '{a:1}', '{,}'])(
    'is null for what is no JSON object: %s',
    (text) => {
      expect(setMembers(Buffer.from(text), { model: 'b' })).toBeNull()
    },
  )

  it('gives what parsing, setting and writing gives', () => {
    const body = fc.dictionary(fc.string({ unit: character }), fc.jsonValue(), { noNullPrototype: true })
    fc.assert(
      fc.property(body, fc.jsonValue(), fc.nat({ max: 3 }), fc.boolean(), (object, value, indent, present) => {
        const { ['__proto__']: _, ...rest } = object
        const plain = present ? { ...rest, model: 'before' } : rest
        const bytes = Buffer.from(JSON.stringify(plain, null, indent))
        const set = setMembers(bytes, { model: value })
        expect(JSON.parse(set?.toString() ?? '')).toEqual({
          ...JSON.parse(bytes.toString()),
          model: JSON.parse(JSON.stringify(value)),
        })
      }),
    )
  })

  it('scanTopLevel finds every member', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: character }), fc.jsonValue()), (object) => {
        const bytes = Buffer.from(JSON.stringify(object))
        const members = [...(scanTopLevel(bytes)?.members ?? [])]
        const read = members.map(([name, { start, end }]) => [name, JSON.parse(bytes.toString('utf8', start, end))])
        expect(read).toEqual(Object.entries(readObject(JSON.parse(bytes.toString()))))
      }),
    )
  })
})

describe('names that two readers may read differently', () => {
  it.each<[string, string, string[]]>([
    ['a repeated name', '{"model":"a","model":"b"}', ['model']],
    ['a name repeated behind an escape', '{"model":"a","mod\\u0065l":"b"}', ['model']],
    ['a name repeated far behind', `{"model":"a","x":${JSON.stringify('y'.repeat(5000))},"model":"b"}`, ['model']],
    ['another case, which Go folds', '{"model":"a","Model":"b"}', ['Model']],
    ['letters that fold to ASCII', '{"max_tokens":1,"max_to\u212Aen\u017F":2}', ['max_to\u212Aen\u017F']],
    ['no such name', '{"model":"a","x":{"model":"b"}}', []],
  ])('reports %s', (_, body, duplicates) => {
    expect(scanTopLevel(Buffer.from(body))?.duplicates).toEqual(duplicates)
  })

  it('of a repeated member sets the last, which parsers take', () => {
    expect(JSON.parse(changed('{"model":"a","model":"b"}', { model: 'c' }) ?? '')).toEqual({ model: 'c' })
  })
})
