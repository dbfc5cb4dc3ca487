import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonTextError } from '../../src/cli/setup/json-object.ts'
import { setMembers, unsetMembers } from '../../src/cli/setup/json-text.ts'
import { applySplices, revertInChanged, revertSplices } from '../../src/cli/setup/splice.ts'
import { readToml } from '../../src/cli/setup/toml-text.ts'

/** The text after setting a member. */
const set = (text: string, path: string[], value: unknown) =>
  applySplices(text, setMembers(text, [[path, value]]).splices)

describe('setMembers', () => {
  it.each([
    ['{}', '{\n  "a": 1\n}'],
    ['{ }\n', '{\n  "a": 1\n }\n'],
    ['{"b":2}', '{\n  "a": 1,"b":2}'],
    ['{\n    "b": 2\n}', '{\n    "a": 1,\n    "b": 2\n}'],
    ['{\r\n\t"b": 2\r\n}', '{\r\n\t"a": 1,\r\n\t"b": 2\r\n}'],
    ['{ "a": [{"a": 0}] }', '{ "a": 1 }'],
    ['{ "a": 0, "b": {"a": 0}, "a" : "last" }', '{ "a": 0, "b": {"a": 0}, "a" : 1 }'],
    ['{\n  /* b */ "b": 2\n}', '{\n  "a": 1,\n  /* b */ "b": 2\n}'],
    ['// {\n{ "x": "}", /* "a": 0 */ }', '// {\n{\n  "a": 1, "x": "}", /* "a": 0 */ }'],
  ])('puts "a" into %j', (text, expected) => {
    expect(set(text, ['a'], 1)).toBe(expected)
  })

  it.each([
    ['{}', '{\n  "a": {\n    "b": 1\n  }\n}'],
    ['{ "a": {} }', '{ "a": {\n  "b": 1\n} }'],
    ['{\n  "a": {\n    "c": 2\n  }\n}', '{\n  "a": {\n    "b": 1,\n    "c": 2\n  }\n}'],
  ])('puts "a.b" into %j', (text, expected) => {
    expect(set(text, ['a', 'b'], 1)).toBe(expected)
  })

  it.each([
    ['{\n\t"b": 2\n}', '{\n\t"a": {\n\t\t"c": 1\n\t},\n\t"b": 2\n}'],
    ['{\r\n  "b": 2\r\n}', '{\r\n  "a": {\r\n    "c": 1\r\n  },\r\n  "b": 2\r\n}'],
  ])('indents an object like the members of %j', (text, expected) => {
    expect(set(text, ['a'], { c: 1 })).toBe(expected)
  })

  it.each([
    '',
    '[]',
    '{',
    '{]',
    '{"a"}',
    '{"a":}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{"b": [1 2]}',
    '{} {}',
    '{"b": [}',
    '{"a\n": 1}',
    '{"a": undefined}',
  ])('refuses %j, which is no object', (text) => {
    expect(() => set(text, ['z'], 1)).toThrow(JsonTextError)
  })

  it('throws when a parent of the member is not an object', () => {
    expect(() => set('{"a": 1}', ['a', 'b'], 1)).toThrow('there is no object at line 1')
  })

  it('sets the member of any JSON document, keeps every other one, and can be undone to the byte', () => {
    // JSON has one zero.
    const anyValue = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as unknown)
    const object = fc.dictionary(fc.string(), anyValue)
    fc.assert(
      fc.property(
        object,
        fc.constantFrom(undefined, 1, 2, '\t'),
        fc.string(),
        anyValue,
        (given, indent, key, value) => {
          const text = JSON.stringify(given, null, indent)
          const { splices, members } = setMembers(text, [[[key], value]])
          const next = applySplices(text, splices)
          expect(JSON.parse(next)).toEqual({ ...(JSON.parse(text) as object), [key]: value })
          expect(revertSplices(next, splices)).toBe(text)
          // Somebody has formatted it anew in between.
          const changed = JSON.stringify(JSON.parse(next), null, 4)
          expect(JSON.parse(unsetMembers(changed, members).text)).toEqual(JSON.parse(text))
        },
      ),
    )
  })
})

describe('unsetMembers', () => {
  const own = '{ "own": 1, "env": { "MINE": "x", "THEIRS": "old" } }'
  const { members } = setMembers(own, [
    [['helper'], 'h'],
    [['env', 'OURS'], 'y'],
    [['env', 'THEIRS'], 'new'],
    [['made', 'for', 'us'], 1],
  ])

  it.each([
    [
      'rewritten in another form',
      '{"helper":"h","own":2,"env":{"OURS":"y","MINE":"x","THEIRS":"new"},"made":{"for":{"us":1}}}',
      '{"own":2,"env":{"MINE":"x","THEIRS":"old"}}',
      [],
    ],
    [
      'with changed values',
      '{"env":{"OURS":"z","THEIRS":"new"},"helper":"mine"}',
      '{"env":{"OURS":"z","THEIRS":"old"},"helper":"mine"}',
      ['env.OURS', 'helper'],
    ],
    ['without them', '{"own":1}', '{"own":1}', []],
    [
      'with more in an object that was made for them',
      '{"made":{"for":{"us":1,"me":2}}}',
      '{"made":{"for":{"me":2}}}',
      [],
    ],
    ['with another kind of value on the way', '{"env":[1],"made":{"for":null}}', '{"env":[1],"made":{"for":null}}', []],
    ['with comments', '{\n// a\n"helper": "h", // b\n"own": 1,\n}', '{\n// a\n"own": 1,\n}', []],
    ['with a comment on the next member', '{\n  "helper": "h",\n  // a\n  "own": 1\n}', '{\n  // a\n  "own": 1\n}', []],
    ['with a comment in one line', '{"helper": "h", /* a */ "own": 1}', '{"own": 1}', []],
    ['with a comment on the member before', '{"own": 1, // a\n"helper": "h"}', '{"own": 1 // a\n}', []],
    ['between others', '{\n"own": 1,\n"helper": "h", // a\n// b\n"last": 2\n}', '{\n"own": 1,\n// b\n"last": 2\n}', []],
    ['with nothing else but comments', '{\n// a\n"helper": "h", // b\n// c\n}', '{\n// a\n// c\n}', []],
  ])('takes them out of a document %s', (_, text, expected, kept) => {
    const result = unsetMembers(text, members)
    expect([result.text, [...result.kept].sort()]).toEqual([expected, [...kept].sort()])
  })
})

describe('revertInChanged', () => {
  const text = '{\n  "own": 1\n}\n'
  const { splices } = setMembers(text, [[['ours'], 'x']])
  const written = applySplices(text, splices)

  it('takes out what was written, wherever it has moved to', () => {
    expect(revertInChanged(`// a line above\n${written}`, splices)).toBe(`// a line above\n${text}`)
  })

  it.each([
    ['is gone', text],
    ['is there twice', written + written],
  ])('returns null when what was written %s', (_, changed) => {
    expect(revertInChanged(changed, splices)).toBeNull()
  })
})

describe('readToml', () => {
  const namesIn = (text: string) => readToml(text).keys.map(({ name }) => name)

  it.each([
    ['', []],
    ['a = 1', ['a']],
    ['a.b = 1\n"c d" = 2\n', ['a.b', 'cd']],
    ['a = "x\\"y" # b = 1\nc = \'z\\\'', ['a', 'c']],
    ['a = """\nb = 1\n"""\nc = 1', ['a', 'c']],
    ["a = '''\nb = '''\nc = 1", ['a', 'c']],
    ['a = [\n  "]", # ]\n  [1, 2],\n]\nb = { c = 1, d = [2] }\ne = 1979-05-27 07:32:00\n', ['a', 'b', 'e']],
    ['a = -inf\r\nb = 0x1F\r\n', ['a', 'b']],
    ['a = 1\n[t]\nb = 2', ['a']],
  ])('finds the keys above the first table of %j', (text, names) => {
    expect(namesIn(text)).toEqual(names)
  })

  it('finds the names of tables and keys, and not what looks like one in a value', () => {
    const text = 'a = [\n[1],\n]\n[x.y]\nb = """\n[no]\n"""\n[[ "z" ]]\n"c" . d = 1\n[ p . q ]\n'
    expect(readToml(text).names).toEqual(['a', 'x.y', 'x.y.b', 'z', 'z.c.d', 'p.q'])
  })

  it('says where a value begins and ends', () => {
    const text = '# first\n a = [1,\n 2] # last\nb = "x" \n'
    expect(readToml(text).keys.map(({ start, end }) => text.slice(start, end))).toEqual(['a = [1,\n 2]', 'b = "x"'])
  })

  it.each(['=', 'a', 'a =', 'a = \nb = 1', '[x', 'a = [1', 'a = "x', 'a = 1 ]'])('refuses %j', (text) => {
    expect(() => readToml(text)).toThrow(/line \d|Line \d/)
  })
})
