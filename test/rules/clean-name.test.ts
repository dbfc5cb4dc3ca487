import { describe, expect, it } from 'vitest'
import { cleanName } from '../../src/kernel/formats/clean-name.ts'

describe('cleanName', () => {
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
    expect(cleanName(raw)).toBe(clean)
  })

  it('changes nothing the second time', () => {
    for (const [, raw] of cases) {
      const once = cleanName(raw)
      expect(once === null ? null : cleanName(once)).toBe(once)
    }
  })
})
