import { describe, expect, it } from 'vitest'
import { chooseDeviceName, cleanDeviceName, readUserAgentName } from '../../src/control/devices/device-name.ts'

describe('cleanDeviceName', () => {
  const cases: [promise: string, raw: string, clean: string | null][] = [
    ['keeps an ordinary name', 'Ada’s MacBook Pro (2)', 'Ada’s MacBook Pro (2)'],
    ['keeps a host name', 'build-runner-03.internal', 'build-runner-03.internal'],
    ['keeps other scripts and emoji', '田中のPC 💻', '田中のPC 💻'],
    ['keeps markup, which is escaped where it is shown', '<img src=x onerror=a()>', '<img src=x onerror=a()>'],
    ['trims and collapses white space', ' \t a \n\n b\u00A0\u3000c ', 'a b c'],
    ['leaves no line break behind', 'a\r\nBcc: evil@e.test', 'a Bcc: evil@e.test'],
    ['takes line and paragraph separators for white space', 'a\u2028b\u2029c', 'a b c'],
    ['drops C0 controls', 'a\u0001\u001B[31mb\u007F', 'a[31mb'],
    ['drops C1 controls', 'a\u0080\u009Bb', 'ab'],
    ['drops embeddings and overrides', '\u202Aa\u202Bb\u202Cc\u202Dd\u202Etxt.exe', 'abcdtxt.exe'],
    ['drops isolates', '\u2066a\u2067b\u2068c\u2069', 'abc'],
    ['drops direction marks', 'a\u200E\u200F\u061Cb', 'ab'],
    ['drops zero-width characters', 'a\u200B\u200C\u200D\u2060\uFEFFb', 'ab'],
    ['drops soft hyphens, tags and fillers', 'a\u00AD\u{E0041}\u3164\u115F\u2800b', 'ab'],
    ['leaves one space where invisible characters stood between spaces', 'a \u200B b', 'a b'],
    ['composes', 'e\u0301', 'é'],
    ['composes across what it drops', 'e\u200B\u0301', 'é'],
    ['mends half a surrogate pair', 'a\uD83D', 'a\uFFFD'],
    ['cuts at 64 code points, not in the middle of one', '💻'.repeat(65), '💻'.repeat(64)],
    ['leaves no space at the cut', `${'a'.repeat(63)} b`, 'a'.repeat(63)],
    ['cuts 10 kB', 'x'.repeat(10_240), 'x'.repeat(64)],
    ['finds nothing in an empty name', '', null],
    ['finds nothing in white space', ' \t\n', null],
    ['finds nothing in invisible characters', '\u200B\u202E\u3164\u2800', null],
    ['refuses NUL', 'a\0b', null],
  ]
  it.each(cases)('%s', (_promise, raw, clean) => {
    expect(cleanDeviceName(raw)).toBe(clean)
  })

  it('changes nothing the second time', () => {
    for (const [, raw] of cases) {
      const once = cleanDeviceName(raw)
      expect(once === null ? null : cleanDeviceName(once)).toBe(once)
    }
  })
})

describe('chooseDeviceName', () => {
  it.each<[string, (string | null | undefined)[], string]>([
    ['takes the first name', ['laptop', 'box-7'], 'laptop'],
    ['passes over names without visible characters', ['', ' \u200B', null, undefined, 'box-7'], 'box-7'],
    ['cleans the name', ['a\r\nb\u202E'], 'a b'],
    ['says so when nothing was reported', [undefined, ''], 'Unnamed device'],
  ])('%s', (_, reported, name) => {
    expect(chooseDeviceName(reported)).toBe(name)
  })
})

describe('readUserAgentName', () => {
  const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)'
  it.each<[string, string | null]>([
    ['codex_cli_rs/0.63.0 (Ubuntu 24.4.0; x86_64)', 'codex_cli_rs'],
    ['curl/8.5.0', 'curl'],
    ['node', 'node'],
    ['', null],
    ['(no product)', null],
    ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Windows'],
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/141.0.0.0 Safari/537.36`, 'Chrome on Linux'],
    [`Mozilla/5.0 (Windows NT 10.0) ${webkit} Chrome/141.0.0.0 Safari/537.36 Edg/141.0.0.0`, 'Edge on Windows'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1 Version/18 Safari/605.1', 'Safari on Mac'],
    ['Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18 Mobile Safari/604.1', 'Safari on iPhone'],
    ['Mozilla/5.0 (compatible; something)', 'Browser'],
  ])('reads %j as %j', (userAgent, name) => {
    expect(readUserAgentName(userAgent)).toBe(name)
  })
})
