import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody, parseExactBody } from '../../src/gateway/calls/parse-body.ts'
import { character } from '../support/arbitraries.ts'

type Body = Record<string, unknown>

const CONTENT = ['messages', 'input', 'prompt', 'system', 'instructions', 'tools']

/** Writes JSON with some letters escaped, as clients of different languages do. */
const escape = (json: string, escapes: RegExp): string =>
  json.replaceAll(escapes, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

const escapes = fc.constantFrom(/(?!)/g, /[\u0080-\uffff]/g, /[\u0080-\u00ff]/g, /m/g)
const text = fc.oneof(fc.string({ unit: character, maxLength: 12 }), fc.constantFrom('é', 'Ã©', 'ſ', '\ud800', 'a'))
const name = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('model', 'stream', 'user', ...CONTENT) }, text)
const value = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
})).value
const body = fc.dictionary(name, value, { maxKeys: 6, noNullPrototype: true })

/** All of a body that must be exact: what is outside of the conversation, and the models of tools. */
function exactPart(read: unknown): unknown {
  const all = read as Body
  const outside = Object.fromEntries(Object.entries(all).filter(([member]) => !CONTENT.includes(member)))
  const tools = Array.isArray(all.tools) ? all.tools.map((tool: Body | null) => tool?.model) : null
  return { outside, names: Object.keys(all), tools }
}

/** The shape of a value: all of it but its texts. */
function shapeOf(read: unknown): unknown {
  if (typeof read === 'string') return 'text'
  if (Array.isArray(read)) return read.map(shapeOf)
  return typeof read === 'object' && read !== null ? Object.values(read).map(shapeOf) : read
}

describe('the body of a call', () => {
  it('is read as a UTF-8 parser reads it, except for the texts of the conversation', () => {
    fc.assert(
      fc.property(body, escapes, (sent, escaped) => {
        const bytes = Buffer.from(escape(JSON.stringify(sent), escaped))
        const expected: unknown = JSON.parse(bytes.toString())
        const read = parseBody(bytes)
        expect(exactPart(read)).toEqual(exactPart(expected))
        expect(shapeOf(read)).toEqual(shapeOf(expected))
        expect(parseExactBody(bytes, read)).toEqual(expected)
      }),
    )
  })

  it('is refused where a UTF-8 parser refuses it', () => {
    fc.assert(
      fc.property(
        body,
        fc.nat(),
        fc.constantFrom('', 'é', '"', '\\', '\u00a0', '\u2028', '\n', '}'),
        (sent, at, wrong) => {
          const json = JSON.stringify(sent)
          const place = at % (json.length + 1)
          const bytes = Buffer.from(json.slice(0, place) + wrong + json.slice(place + 1))
          expect(isRead(() => parseBody(bytes))).toBe(isRead(() => JSON.parse(bytes.toString())))
        },
      ),
    )
  })

  it.each<[string, string, unknown]>([
    ['a model beyond ASCII', '{"model":"é"}', { model: 'é' }],
    ['a model that looks like decoded bytes', '{"model":"\\u00c3\\u00a9","user":"é"}', { model: 'Ã©', user: 'é' }],
    ['a name beyond ASCII', '{"ſtream":true}', { ſtream: true }],
    ['the model of a tool', '{"tools":[{"model":"é"}]}', { tools: [{ model: 'é' }] }],
    ['a name twice', '{"model":"a","model":"é"}', { model: 'é' }],
    ['deep nesting outside of the conversation', `{"x":${'['.repeat(20)}"é"${']'.repeat(20)}}`, undefined],
  ])('has exactly: %s', (_, json, expected) => {
    expect(parseBody(Buffer.from(json))).toEqual(expected ?? JSON.parse(json))
  })

  it('has the texts of the conversation byte by byte, which is what makes reading fast', () => {
    const bytes = Buffer.from('{"model":"a","messages":[{"role":"user","content":"é"}]}')
    expect(parseBody(bytes)).toEqual({ model: 'a', messages: [{ role: 'user', content: 'Ã©' }] })
  })
})

function isRead(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}
