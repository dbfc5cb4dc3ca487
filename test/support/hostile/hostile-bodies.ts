import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { Content, Document } from '../../../src/docs/document.ts'
import { character, resolve, valuesOf } from '../arbitraries.ts'
import { changedCeremonies } from './hostile-ceremonies.ts'
import type { Ceremony } from './hostile-ceremonies.ts'
import { hostileTexts, hostileValues, toText } from './hostile-values.ts'
import { withReplaced } from './json-places.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Codes, tokens and ids that the service has issued, by the name of the field that accepts them. */
export type Live = Readonly<Record<string, readonly string[]>>

/** A body and the headers that describe it, in a form that a failed test can print. */
export type HostileBody = {
  /** Text is sent as UTF-8. */
  readonly body: string | Uint8Array | Ceremony
  readonly type: string | null
  readonly encoding?: string
  /** Sent without Content-Length. */
  readonly chunked?: boolean
}

/** Bodies for an operation: valid ones, valid ones with a few changes, and random bytes. */
export function hostileBodies(document: Document, content: Content, live: Live): Arbitrary<HostileBody> {
  const types = Object.keys(content)
  const bodies = Object.entries(content).map(([type, { schema = {}, example }]) => {
    const { properties = {} } = resolve(document, schema)
    const given = Object.entries(live).filter(([name]) => name in properties)
    const real = fc.record(Object.fromEntries(given.map(([name, values]) => [name, fc.constantFrom(...values)])), {
      requiredKeys: [],
    })
    const valid = fc
      .tuple(fc.oneof(fc.constant(example ?? {}), valuesOf(document, schema)), real)
      .map(([body, fields]) => ({ ...(body as object), ...fields }))
    return type === FORM_TYPE ? forms(valid) : jsonTexts(valid)
  })
  const body = fc.oneof({ weight: 8, arbitrary: fc.oneof(...bodies) }, { weight: 1, arbitrary: noise })
  const type = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...types) },
    { weight: 1, arbitrary: fc.constantFrom(null, JSON_TYPE, FORM_TYPE, ...ODD_TYPES) },
  )
  return fc
    .record({
      body,
      type,
      encoding: fc.oneof({ weight: 30, arbitrary: fc.constant('') }, { weight: 1, arbitrary: ENCODINGS }),
      chunked: fc.oneof({ weight: 15, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    })
    .map(({ encoding, chunked, ...sent }) => ({ ...sent, ...(encoding && { encoding }), ...(chunked && { chunked }) }))
}

/** Bodies with a passkey that was really created, or that really signed, with changes. */
export function ceremonies(): Arbitrary<HostileBody> {
  return changedCeremonies().map((ceremony) => ({ body: ceremony, type: JSON_TYPE }))
}

/** The bytes that are sent: gzip is applied, other encodings are only declared. */
export function bytesOf(body: string | Uint8Array, encoding: string | undefined): Uint8Array {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return encoding === 'gzip' ? gzipSync(bytes) : bytes
}

// ---- JSON

function jsonTexts(valid: Arbitrary<unknown>): Arbitrary<string | Uint8Array> {
  const places = fc.array(fc.tuple(fc.nat(1000), hostileValues), { minLength: 1, maxLength: 3 })
  const mutated = fc
    .tuple(valid, places)
    .map(([body, changes]) => toText(changes.reduce<unknown>((value, [at, by]) => withReplaced(value, at, by), body)))
  const text = valid.map(toText)
  return fc.oneof(
    { weight: 2, arbitrary: text },
    { weight: 5, arbitrary: mutated },
    { weight: 2, arbitrary: withMember(text) },
    { weight: 2, arbitrary: withOtherBytes(text) },
    { weight: 1, arbitrary: hostileValues.map(toText) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom(' ', '\ufeff', '\n\t', '\0', '//x\n', ")]}'"), text)
        .map(([before, body]) => before + body),
    },
  )
}

/** One more member at the front or the end: a name with a meaning in JavaScript, or a duplicate of a member. */
function withMember(text: Arbitrary<string>): Arbitrary<string> {
  const names = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'length',
    '',
    '\0',
    '$ref',
    'a.b',
  ]
  return fc
    .tuple(text, fc.oneof(fc.constantFrom(...names), fc.nat(9)), hostileValues, fc.boolean())
    .map(([body, which, value, atFront]) => {
      const own = Object.keys(JSON.parse(body) as object)
      const name = typeof which === 'number' ? (own[which % Math.max(own.length, 1)] ?? 'x') : which
      const member = `${JSON.stringify(name)}:${toText(value)}`
      const inside = body.slice(1, -1)
      const members = inside === '' ? [member] : atFront ? [member, inside] : [inside, member]
      return `{${members.join()}}`
    })
}

/** Bytes that are changed, inserted, removed, repeated or cut off. */
function withOtherBytes(text: Arbitrary<string>): Arbitrary<Uint8Array> {
  const edit = fc.record({
    how: fc.constantFrom('set', 'insert', 'remove', 'repeat', 'cut'),
    at: fc.nat(2000),
    byte: fc.oneof(
      fc.integer({ min: 0, max: 255 }),
      fc.constantFrom(0, 0x22, 0x5c, 0x7b, 0x7d, 0x80, 0xc0, 0xed, 0xff),
    ),
  })
  return fc.tuple(text, fc.array(edit, { minLength: 1, maxLength: 4 })).map(([body, edits]) =>
    edits.reduce<Uint8Array>((bytes, { how, at, byte }) => {
      const place = bytes.length === 0 ? 0 : at % bytes.length
      const [before, after] = [bytes.subarray(0, place), bytes.subarray(place)]
      if (how === 'cut') return before
      const middle =
        how === 'remove' ? [] : how === 'repeat' ? [...after.subarray(0, 40), ...after.subarray(0, 40)] : [byte]
      return Uint8Array.from([...before, ...middle, ...(how === 'insert' ? after : after.subarray(1))])
    }, Buffer.from(body)),
  )
}

// ---- Forms

function forms(valid: Arbitrary<unknown>): Arbitrary<string | Uint8Array> {
  const entries = valid.map((body) =>
    Object.entries(body as object).map(([name, value]) => [name, plain(value)] as const),
  )
  const text = entries.map((pairs) => new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString())
  const changed = fc
    .tuple(entries, fc.nat(9), fc.oneof(hostileTexts, hostileValues.map(plain)), fc.boolean())
    .map(([pairs, at, value, isRepeated]) => {
      const name = pairs[at % Math.max(pairs.length, 1)]?.[0] ?? 'x'
      const kept = pairs.filter((pair) => isRepeated || pair[0] !== name)
      return new URLSearchParams([...kept, [name, value]].map(([key = '', given = '']) => [key, given])).toString()
    })
  const odd = fc
    .tuple(text, fc.constantFrom(...ODD_FORM_PARTS), fc.boolean())
    .map(([form, part, atFront]) => (atFront ? `${part}&${form}` : `${form}&${part}`))
  return fc.oneof(
    { weight: 2, arbitrary: text },
    { weight: 5, arbitrary: changed },
    { weight: 2, arbitrary: odd },
    { weight: 2, arbitrary: withOtherBytes(text) },
    { weight: 1, arbitrary: valid.map(toText) },
  )
}

const ODD_FORM_PARTS = [
  ...['%', '%zz', '%00=%00', '%ff=%ff', 'userCode=%ed%a0%80', '&&&', '=', '==', '=x', '+', 'a[b]=c', 'a[]=1&a[]=2'],
  ...['__proto__=x', '__proto__[x]=y', 'constructor=x', 'toString=x', 'token', 'grant_type', 'action=find&action=deny'],
  'x&'.repeat(2000),
  'x=1&'.repeat(1200),
]

function plain(value: unknown): string {
  return typeof value === 'string' ? value : toText(value)
}

// ---- Types, encodings, noise

const ODD_TYPES = [
  ...['text/plain', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16', 'application/json;charset'],
  ...['application/json; charset="utf-8"', 'APPLICATION/JSON', 'application/problem+json', 'application/octet-stream'],
  ...['application/x-www-form-urlencoded; charset=latin1', '*/*', 'json', ';', ''],
]

const ENCODINGS = fc.constantFrom('gzip', 'deflate', 'br', 'zstd', 'compress', 'x-gzip', 'gzip, gzip', 'identity')

const noise: Arbitrary<string | Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.string({ unit: character, maxLength: 100 }),
  fc.constantFrom(
    '',
    '{',
    '[',
    '"',
    '[]',
    '{}',
    'null',
    '0',
    '"x"',
    '\0',
    'x'.repeat(20_000),
    '['.repeat(8000),
    '{"a":'.repeat(3000),
  ),
)
