import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseBody, parseExactBody } from '../../src/gateway/calls/request/parse-body.ts'
import { writeWithTexts } from '../../src/gateway/dialects/json/long-texts.ts'
import { BLOCK_BYTES } from '../../src/gateway/dialects/json/special-bytes.ts'
import { character } from '../support/arbitraries.ts'

type Body = Record<string, unknown>

const CONTENT = ['messages', 'input', 'prompt', 'system', 'instructions', 'tools']

/** Writes JSON with some letters escaped, as clients of different languages do. */
const escape = (json: string, escapes: RegExp): string =>
  json.replaceAll(escapes, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`)

const escapes = fc.constantFrom(/(?!)/g, /[\u007f-\uffff]/g, /[\u0080-\u00ff]/g, /\x7f/g, /m/g)
const shortText = fc.oneof(
  fc.string({ unit: character, maxLength: 12 }),
  fc.constantFrom('é', 'Ã©', 'ſ', '\ud800', 'a', '\x7f', '\x7f0', '"\x7f'),
)
/** Characters that are cut from a text. */
const stretch = fc.constantFrom(
  'a'.repeat(2300),
  ' '.repeat(4099),
  'né'.repeat(1500),
  'say "no"\n'.repeat(99),
  '\\'.repeat(999),
)
const longText = fc.tuple(shortText, stretch, shortText, stretch).map((parts) => parts.join(''))
const text = fc.oneof({ weight: 6, arbitrary: shortText }, { weight: 1, arbitrary: longText })
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

const LONG = 'word '.repeat(1000)

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
        const parsed = parseBody(bytes)
        const read = parsed.value
        expect(exactPart(read)).toEqual(exactPart(expected))
        expect(shapeOf(read)).toEqual(shapeOf(expected))
        expect(parseExactBody(parsed).value).toEqual(expected)
      }),
    )
  })

  it('is refused where a UTF-8 parser refuses it', () => {
    fc.assert(
      fc.property(
        body,
        fc.nat(),
        fc.constantFrom('', 'é', '"', '\\', '\u00a0', '\u2028', '\n', '}', '\0', '\x1f', '\\u12', '\x7f'),
        (sent, at, wrong) => {
          const json = JSON.stringify(sent)
          const place = at % (json.length + 1)
          const bytes = Buffer.from(json.slice(0, place) + wrong + json.slice(place + 1))
          expect(isRead(() => parseBody(bytes).value)).toBe(isRead(() => JSON.parse(bytes.toString())))
        },
      ),
    )
  })

  it('has the same structure for a UTF-8 parser, with any bytes around what is cut', () => {
    const piece = fc.oneof(
      stretch,
      fc.constantFrom('\\"'.repeat(300), '\\u00e9'.repeat(99), '\\\\'.repeat(301), '\\ud83d\\ude00'.repeat(50)),
      fc.constantFrom('"', '\\', '\\u', '12', '00e9', '\\"', '\n', '\t', '{', '}', '[', ']', ',', ':', '\x7f'),
    )
    const around = fc.constantFrom<[string, string]>(
      ['', ''],
      ['"', '"'],
      ['[', ']'],
      ['{"input":"', '"}'],
      ['{"user":"', '"}'],
    )
    fc.assert(
      fc.property(around, fc.array(piece, { maxLength: 6 }), fc.nat(40), ([before, after], pieces, offset) => {
        const json = before + pieces.join('') + after
        // The places of the bytes differ, because 16 of them are read at once.
        const bytes = Buffer.from(' '.repeat(offset) + json)
        const expected = readOrNull(() => JSON.parse(json))
        expect(shapeOf(readOrNull(() => parseBody(bytes).value))).toEqual(shapeOf(expected))
        // A number such as 1200e9 is kept as it was written.
        if (expected !== null)
          expect(JSON.parse(JSON.stringify(parseExactBody(parseBody(bytes)).value))).toEqual(expected)
      }),
      { numRuns: 1000 },
    )
  })

  it.each<[string, string]>([
    ['a raw line end', `${LONG}\n${LONG}`],
    ['a control character in the middle', `${LONG}\x01${LONG}`],
    ['a zero byte', `${LONG}\0`],
    ['an escape that is cut by the end of the text', `${LONG}\\u12`],
    ['an escape that goes on behind four bytes that are no digits', `\\u12${LONG}`],
    ['an unknown escape', `${LONG}\\x${LONG}`],
    ['an escape with a letter that is no digit', `${LONG}\\u12g4${LONG}`],
    ['a control character between escapes', `${'\\n'.repeat(999)}\t${'\\n'.repeat(999)}`],
    ['a quote behind an even number of backslashes', `${LONG}\\\\"${LONG}`],
    ['no end, because its last quote is escaped', `${LONG}\\`],
  ])('is refused when a long text has %s', (_, content) => {
    const bytes = Buffer.from(`{"input":"${content}"}`)
    expect(() => parseBody(bytes)).toThrow(SyntaxError)
  })

  it.each<[string, string]>([
    ['a list of numbers', `{"input":[${'1,'.repeat(3000)}1]}`],
    ['spaces between its members', `{"input":1,${' '.repeat(9000)}"model":"a"}`],
    ['a text of 512 bytes', `{"input":"${'a'.repeat(512)}"}`],
  ])('has no text cut when it has %s', (_, json) => {
    expect(parseBody(Buffer.from(json)).value).toEqual(JSON.parse(json))
  })

  it.each<[string, string, boolean]>([
    ['a quote', '\\"', true],
    ['a backslash', '\\\\', true],
    ['a character', '\\u00e9', true],
    ['an unknown letter', '\\x', false],
    ['too few digits', '\\u00e', false],
  ])('is read in blocks, whose ends may be within the escape of %s', (_, escaped, isJson) => {
    for (let padding = BLOCK_BYTES - 30; padding < BLOCK_BYTES + 5; padding++) {
      const json = `{"input":"${'a'.repeat(padding)}${escaped}","model":"b"}`
      const read = readOrNull(() => parseBody(Buffer.from(json)).value)
      expect(read).toEqual(isJson ? { input: `${'a'.repeat(128)}\x7f0`, model: 'b' } : null)
    }
  })

  it('has long names of the conversation, so that no member hides another one', () => {
    const json = JSON.stringify({ messages: [{ [`${LONG}a`]: [1], [`${LONG}b`]: 2 }] })
    expect(parseBody(Buffer.from(json)).value).toEqual(JSON.parse(json))
    expect(parseBody(Buffer.from(json.replaceAll('":', '" :'))).value).toEqual(JSON.parse(json))
  })

  it('keeps the digits of its numbers where it is read exactly', () => {
    const json = `{"messages":["${LONG}"],"seed":12345678901234567890}`
    const bytes = Buffer.from(json)
    expect(JSON.stringify(parseExactBody(parseBody(bytes)).value)).toBe(json)
  })

  it('is written again with the same values, also when texts were changed, added or moved', () => {
    fc.assert(
      fc.property(body, escapes, fc.array(text, { maxLength: 2 }), (sent, escaped, added) => {
        const { value: read, texts } = parseExactBody(parseBody(Buffer.from(escape(JSON.stringify(sent), escaped))))
        const changed = { added, read: [read, read], joined: Object.values(sent).join('') }
        expect(JSON.parse(writeWithTexts(changed, texts).toString())).toEqual(JSON.parse(JSON.stringify(changed)))
      }),
    )
  })

  it.each<[string, string]>([
    ['an escape of the mark', '\\u007f0'],
    ['the mark itself', '\x7f0'],
  ])('is read exactly when a short text has %s, which stands for what is cut', (_, mark) => {
    const json = `{"input":["${mark}","${LONG}","a${mark}"]}`
    expect(parseExactBody(parseBody(Buffer.from(json))).value).toEqual(JSON.parse(json))
  })

  it('has its long texts written as the bytes that it had', () => {
    const escaped = `"${LONG}\\u00e9\\/"`
    const { value: read, texts } = parseExactBody(parseBody(Buffer.from(`{"input":[${escaped},"short"]}`)))
    const [whole] = (read as { input: string[] }).input
    const written = (value: unknown) => writeWithTexts(value, texts).toString()
    expect(written({ b: [1, whole], c: whole })).toBe(`{"b":[1,${escaped}],"c":${escaped}}`)
    expect(written([whole, '\x7f', 'a"\x7f'])).toBe(JSON.stringify([whole, '\x7f', 'a"\x7f']))
    expect(written({ '\x7f': whole })).toBe(JSON.stringify({ '\x7f': whole }))
    expect(written(`${whole}!`)).toBe(JSON.stringify(`${whole}!`))
  })

  it('has the long texts of the conversation cut, which is what makes reading large bodies fast', () => {
    const image = `data:image/png;base64,${'A'.repeat(100_000)}`
    const bytes = Buffer.from(JSON.stringify({ model: 'a', input: [{ image_url: image }], user: 'b' }))
    const read = parseBody(bytes).value as { input: { image_url: string }[] }
    expect(read).toMatchObject({ model: 'a', user: 'b' })
    expect(read.input[0]?.image_url).toBe(`${image.slice(0, 128)}\x7f0`)
  })

  it.each<[string, string, unknown]>([
    ['a model beyond ASCII', '{"model":"é"}', { model: 'é' }],
    ['a model that looks like decoded bytes', '{"model":"\\u00c3\\u00a9","user":"é"}', { model: 'Ã©', user: 'é' }],
    ['a name beyond ASCII', '{"ſtream":true}', { ſtream: true }],
    ['the model of a tool', '{"tools":[{"model":"é"}]}', { tools: [{ model: 'é' }] }],
    ['a long text outside of the conversation', JSON.stringify({ user: LONG }), { user: LONG }],
    ['a long name', JSON.stringify({ [LONG]: 1 }), { [LONG]: 1 }],
    ['the long model of a tool', JSON.stringify({ tools: [{ model: LONG }] }), { tools: [{ model: LONG }] }],
    [
      'the model of a tool that the conversation adds',
      '{"input":[{"tools":[{"model":"é"}]}]}',
      { input: [{ tools: [{ model: 'é' }] }] },
    ],
    ['a name twice', '{"model":"a","model":"é"}', { model: 'é' }],
    ['deep nesting outside of the conversation', `{"x":${'['.repeat(20)}"é"${']'.repeat(20)}}`, undefined],
  ])('has exactly: %s', (_, json, expected) => {
    expect(parseBody(Buffer.from(json)).value).toEqual(expected ?? JSON.parse(json))
  })

  it('has the texts of the conversation byte by byte, which is what makes reading fast', () => {
    const bytes = Buffer.from('{"model":"a","messages":[{"role":"user","content":"é"}]}')
    expect(parseBody(bytes).value).toEqual({ model: 'a', messages: [{ role: 'user', content: 'Ã©' }] })
  })
})

function isRead(read: () => unknown): boolean {
  return readOrNull(read) !== null
}

/** Null for what is refused, and for the JSON `null`. */
function readOrNull(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return null
  }
}
