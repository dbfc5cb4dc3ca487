import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import type { Content, Document } from '../../src/docs/document.ts'
import { character, resolve, valuesOf } from './arbitraries.ts'

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Real values by the name of the field that takes them: codes, tokens and ids that the service has given out. */
export type Live = Readonly<Record<string, readonly string[]>>

/** A change to a ceremony of WebAuthn: one of its places gets another value, or one of its encoded fields other bytes. */
export type Change =
  | { readonly at: number; readonly value: unknown }
  | { readonly at: number; readonly flips: readonly (readonly [number, number])[] }
  | { readonly said: string; readonly value: unknown }

/** A real ceremony, begun for this body or long over, with changes; none leaves it good. */
export type Ceremony = { readonly begun: boolean; readonly fields: object; readonly changes: readonly Change[] }

/** A body and what its request says of it, as it is printed when it fails. */
export type HostileBody = {
  /** Text is sent as UTF-8. */
  readonly body: string | Uint8Array | Ceremony
  readonly type: string | null
  readonly encoding?: string
  /** Sent without its length. */
  readonly chunked?: boolean
}

/** What somebody might send to an operation: what it takes, and everything from nearly that to noise. */
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

/** Bodies with a passkey that was really made, or that really signed, and then was changed. */
export function ceremonies(): Arbitrary<HostileBody> {
  const at = fc.nat(1000)
  const change: Arbitrary<Change> = fc.oneof(
    fc.record({ at, value: hostileValues }),
    fc.record({
      at,
      flips: fc.array(fc.tuple(fc.nat(1000), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({
      said: fc.constantFrom('type', 'challenge', 'origin', 'crossOrigin', '__proto__'),
      value: hostileValues,
    }),
  )
  const fields = fc.record(
    {
      name: hostileValues,
      email: hostileValues,
      team: hostileValues,
      deviceId: hostileValues,
      deviceName: hostileValues,
    },
    { requiredKeys: [] },
  )
  const body = fc.record({
    begun: fc.boolean(),
    fields: fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: fields }),
    changes: fc.array(change, { maxLength: 3 }),
  })
  return body.map((ceremony) => ({ body: ceremony, type: JSON_TYPE }))
}

/** The text of a ceremony after its changes. */
export function changed(whole: object, { fields, changes }: Ceremony): string {
  const body = changes.reduce<unknown>(afterChange, { ...whole, ...fields })
  return toText(body)
}

/** The bytes that go out. */
export function bytesOf(body: string | Uint8Array, encoding: string | undefined): Uint8Array {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  return encoding === 'gzip' ? gzipSync(bytes) : bytes
}

// ---- JSON ----------------------------------------------------------------------------------------------------------

function jsonTexts(valid: Arbitrary<unknown>): Arbitrary<string | Uint8Array> {
  const places = fc.array(fc.tuple(fc.nat(1000), hostileValues), { minLength: 1, maxLength: 3 })
  const mutated = fc
    .tuple(valid, places)
    .map(([body, changes]) => toText(changes.reduce<unknown>((value, [at, by]) => replaced(value, at, by), body)))
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

/** Numbers that JSON can write and `JSON.stringify` does not, and words that only look like JSON. */
const RAW = [
  '1e999',
  '-1e999',
  '-0',
  '9007199254740993',
  '1E+2',
  '0.1e-999',
  '01',
  'NaN',
  'Infinity',
  'undefined',
  "'x'",
]

const RAW_MARK = '"raw:'

/** As JSON, in which what is marked as raw stands as it is. */
function toText(value: unknown): string {
  const [first = '', ...others] = JSON.stringify([value]).slice(1, -1).split(RAW_MARK)
  return first + others.map((text) => text.replace('"', '')).join('')
}

/** One more member, at the front or the end: a name that means something to JavaScript, or one that is there already. */
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

/** Bytes that are changed, added, repeated or cut off. */
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

// ---- Forms ---------------------------------------------------------------------------------------------------------

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

// ---- Values --------------------------------------------------------------------------------------------------------

const ODD_TYPES = [
  ...['text/plain', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16', 'application/json;charset'],
  ...['application/json; charset="utf-8"', 'APPLICATION/JSON', 'application/problem+json', 'application/octet-stream'],
  ...['application/x-www-form-urlencoded; charset=latin1', '*/*', 'json', ';', ''],
]

/** `gzip` is told and done; the others are told only. */
const ENCODINGS = fc.constantFrom('gzip', 'deflate', 'br', 'zstd', 'compress', 'x-gzip', 'gzip, gzip', 'identity')

const TEXTS = [
  ...[
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'a\udfffb',
    '\udc00\ud800',
    '\u202eevil',
    '\u200b',
    '\u0000\u0001\u001f',
    '\ufffe\uffff',
  ],
  ...[
    'ada@example.com\r\nBcc: x@example.com',
    'ada@example.com,bob@example.com',
    'a@b',
    '@',
    'ada@example.com\0',
    '"a b"@example.com',
  ],
  ...[
    'ada@\ud800.com',
    'ADA@EXAMPLE.COM',
    'ada@xn--a.com',
    'ada@[127.0.0.1]',
    `${'a'.repeat(300)}@example.com`,
    'İ@example.com',
  ],
  ...[
    "' OR 1=1 --",
    '%00',
    '../../etc/passwd',
    '<script>alert(1)</script>',
    '{{7*7}}',
    '${7*7}',
    '__proto__',
    'constructor',
  ],
  ...[
    '@acme/core',
    '@acme/core\0',
    '@acme/',
    '@/',
    '@acme/core/x',
    'ＡＤＡ',
    'svcd_',
    'svcm_x',
    'svcr_',
    'svcs_',
    'svca_',
  ],
  ...[
    'eyJhbGciOiJub25lIn0.e30.',
    'a.b.c',
    'BCDF-GHJK',
    'bcdfghjk',
    '00000000-0000-0000-0000-000000000000',
    'null',
    '1e999',
  ],
]

/** Texts that are anything but plain. */
const hostileTexts: Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 2, arbitrary: fc.string({ unit: character, maxLength: 60 }) },
  // Code units alone: halves of pairs among them.
  {
    weight: 1,
    arbitrary: fc
      .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
      .map((units) => String.fromCharCode(...units)),
  },
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 90 }).map((bytes) => Buffer.from(bytes).toString('base64url')) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('svcd_', 'svcm_', 'svcr_', 'svcs_', ''), fc.uint8Array({ minLength: 32, maxLength: 48 }))
      .map(([prefix, bytes]) => prefix + Buffer.from(bytes).toString('base64url')),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(
        fc.constantFrom('x', 'é', '\0', '\u{1f600}', '\ud800', ' ', '('),
        fc.constantFrom(65, 256, 1025, 5000, 17_000),
      )
      .map(([unit, count]) => unit.repeat(count)),
  },
)

/** Values of every type and none of a schema. */
const hostileValues: Arbitrary<unknown> = fc.oneof(
  { weight: 5, arbitrary: hostileTexts },
  { weight: 2, arbitrary: fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 2 ** 31, 2 ** 53, 1e308, 5e-324) },
  { weight: 1, arbitrary: fc.constantFrom(...RAW).map((text) => `raw:${text}`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>(
      [],
      {},
      [[]],
      [null],
      { length: -1 },
      { toString: 1 },
      { $ne: null },
      { toJSON: 'x' },
    ),
  },
  { weight: 1, arbitrary: fc.array(hostileTexts, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(10, 1000, 2500).map((depth) => `raw:${'['.repeat(depth)}${']'.repeat(depth)}`),
  },
  { weight: 1, arbitrary: fc.constant(`raw:${'{"a":'.repeat(2000).replaceAll('"', '')}`) },
)

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

// ---- Places in a value ---------------------------------------------------------------------------------------------

type Place = readonly (string | number)[]

function placesOf(value: unknown, here: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [here]
  return [here, ...Object.entries(value).flatMap(([name, inner]) => placesOf(inner, [...here, name]))]
}

/** The same with one of its places replaced, which is counted off. */
function replaced(value: unknown, at: number, by: unknown): unknown {
  const places = placesOf(value)
  return put(value, places[at % places.length] ?? [], by)
}

function put(value: unknown, [name, ...rest]: Place, by: unknown): unknown {
  if (name === undefined) return by
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) }
  const inner: unknown = Reflect.get(copy, name)
  Object.defineProperty(copy, name, {
    value: put(inner, rest, by),
    enumerable: true,
    configurable: true,
    writable: true,
  })
  return copy
}

function afterChange(body: unknown, change: Change): unknown {
  if ('value' in change && 'at' in change) return replaced(body, change.at, change.value)
  const texts = placesOf(body).filter((place) => typeof valueAt(body, place) === 'string')
  const clientData = texts.find((place) => place.at(-1) === 'clientDataJSON')
  if ('said' in change) {
    if (!clientData) return body
    const said: unknown = parse(Buffer.from(String(valueAt(body, clientData)), 'base64url').toString())
    const text = toText(put(said, [change.said], change.value))
    return put(body, clientData, Buffer.from(text).toString('base64url'))
  }
  const place = texts[change.at % Math.max(texts.length, 1)]
  if (!place) return body
  const bytes = Buffer.from(String(valueAt(body, place)), 'base64url')
  for (const [index, byte] of change.flips) if (bytes.length > 0) bytes[index % bytes.length] = byte
  return put(body, place, bytes.toString('base64url'))
}

function valueAt(value: unknown, place: Place): unknown {
  return place.reduce<unknown>((inner, name) => Reflect.get(inner as object, name), value)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
