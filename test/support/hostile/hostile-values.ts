import fc from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { character } from '../arbitraries.ts'

/**
 * Literals that `JSON.stringify` never writes: numbers out of range or in an odd notation, and texts that are not JSON.
 */
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

/** Writes a value as JSON. A text that begins with `raw:` is written without quotes and without that prefix. */
export function toText(value: unknown): string {
  const [first = '', ...others] = JSON.stringify([value]).slice(1, -1).split(RAW_MARK)
  return first + others.map((text) => text.replace('"', '')).join('')
}

/** Texts that have broken parsers, comparisons, emails, queries or templates elsewhere. */
const TEXTS = [
  // Empty, control characters, halves of surrogate pairs, invisible and direction-changing characters.
  ...['', ' ', '\0', 'a\0b', '\ud800', 'a\udfffb', '\udc00\ud800', '\u202eevil', '\u200b', '\u0000\u0001\u001f'],
  '\ufffe\uffff',
  // Email addresses.
  ...['ada@example.com\r\nBcc: x@example.com', 'ada@example.com,bob@example.com', 'a@b', '@', 'ada@example.com\0'],
  ...['"a b"@example.com', 'ada@\ud800.com', 'ADA@EXAMPLE.COM', 'ada@xn--a.com', 'ada@[127.0.0.1]'],
  ...[`${'a'.repeat(300)}@example.com`, 'İ@example.com'],
  // SQL, paths, markup, templates and names of JavaScript.
  ...["' OR 1=1 --", '%00', '../../etc/passwd', '<script>alert(1)</script>', '{{7*7}}', '${7*7}', '__proto__'],
  'constructor',
  // Names, tokens and codes of this service, and parts of them.
  ...['@acme/core', '@acme/core\0', '@acme/', '@/', '@acme/core/x', 'ＡＤＡ', 'svcd_', 'svcm_x', 'svcr_', 'svcs_'],
  ...['svca_', 'eyJhbGciOiJub25lIn0.e30.', 'a.b.c', 'BCDF-GHJK', 'bcdfghjk', '00000000-0000-0000-0000-000000000000'],
  ...['null', '1e999'],
]

/** Texts that are unlikely to be valid anywhere. */
export const hostileTexts: Arbitrary<string> = fc.oneof(
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

/** Values of all JSON types, chosen without regard to any schema. */
export const hostileValues: Arbitrary<unknown> = fc.oneof(
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
