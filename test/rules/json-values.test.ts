import { describe, expect, it } from 'vitest'
import { parseBody } from '../../src/gateway/calls/request/parse-body.ts'
import { parseExactly, parseObject } from '../../src/gateway/dialects/json/read-json.ts'
import {
  countValues,
  findRepeatedName,
  hasTooManyValues,
  MAX_JSON_VALUES,
  TooManyValues,
} from '../../src/kernel/json.ts'

/** A list with this many numbers: as many commas and brackets, with the bracket of the list. */
const numbers = (count: number) => `[${'1,'.repeat(count - 1)}1]`
const escaped = JSON.stringify(`"${'[{:,'.repeat(MAX_JSON_VALUES)}\\`)

describe('a document has too many values', () => {
  it.each([
    ['with as many numbers as allowed', numbers(MAX_JSON_VALUES), false],
    ['with one more', numbers(MAX_JSON_VALUES + 1), true],
    ['with empty objects, each of which takes a comma', `[${'{},'.repeat(MAX_JSON_VALUES / 2)}0]`, true],
    ['with members', `{${'"a":1,'.repeat(MAX_JSON_VALUES / 2)}"a":1}`, true],
    ['not with characters of JSON in a text', `[${escaped},${escaped}]`, false],
    ['behind a text that ends with a backslash', `["\\\\",${numbers(MAX_JSON_VALUES)}]`, true],
    ['not where it is short', '[1,2]', false],
  ])('%s', (_name, text, expected) => {
    expect(hasTooManyValues(text)).toBe(expected)
  })
})

describe('the name that is repeated', () => {
  it.each([
    ['in an object', '{"a":1,"b":2,"a":3}', 'a'],
    ['with an escape', String.raw`{"a\"":1,"\u0061\"" :2}`, 'a"'],
    ['in an object of a list', '[{"a":1},{"a":1,"c":{},"a":2}]', 'a'],
    ['in objects beside and within each other', '{"a":{"a":1,"b":[{"a":1},{"a":2}]},"b":{"a":3}}', null],
    ['in texts only', String.raw`{"a":"\"a\":1,\"a\":","b":["a","a"]}`, null],
    ['in a text that does not end', String.raw`{"a":1,"a\"`, null],
    ['with an escape that JSON does not have', String.raw`{"\q":1,"\z":2}`, null],
  ])('is found: %s', (_name, text, expected) => {
    expect(findRepeatedName(text)).toBe(expected)
  })

  it('is searched in one pass, also in a text of escapes that does not end', () => {
    expect(findRepeatedName(`{"${'\\"'.repeat(1_000_000)}\\`)).toBeNull()
  })
})

describe('is not parsed with too many values', () => {
  const many = `{"a":${numbers(MAX_JSON_VALUES + 1)}`

  it('the body of a call, wherever its long texts are', () => {
    const long = 'x'.repeat(1000)
    expect(() => parseBody(Buffer.from(`${many},"b":"${long}"}`))).toThrow(TooManyValues)
    expect(parseBody(Buffer.from(`{"a":${numbers(MAX_JSON_VALUES - 9)},"b":"${long}"}`)).value).toBeTruthy()
  })

  it('the JSON of a backend, nor the JSON in a text of a request', () => {
    expect(parseObject(`${many}}`)).toBeNull()
    expect(parseExactly(`${many}}`)).toBeNull()
    expect(parseExactly(`${many},"b":12345678901234567890}`)).toBeNull()
  })
})

it.each<[unknown, number]>([
  ['a', 1],
  [null, 1],
  [{}, 1],
  [{ a: 1, b: [2, {}] }, 5],
  [[[[]]], 3],
  [[[[[]]]], Infinity],
])('%j consists of %i values, where they are nested 3 deep', (value, expected) => {
  expect(countValues(value, 3)).toBe(expected)
})

it('is not parsed with long numbers where it is nested too deep', () => {
  expect(parseExactly(`${'{"a":'.repeat(250)}12345678901234567890${'}'.repeat(250)}`)).toBeNull()
})
