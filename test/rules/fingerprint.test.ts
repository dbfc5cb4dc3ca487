import { describe, expect, it } from 'vitest'
import { fingerprintOf } from '../../src/control/tokens/fingerprint.ts'

const isSame = (a: [string, string], b: [string, string]) => fingerprintOf(...a) === fingerprintOf(...b)

describe('fingerprintOf', () => {
  it.each<[string, [string, string], [string, string], boolean]>([
    ['the same client', ['cli/1', '192.0.2.7'], ['cli/1', '192.0.2.7'], true],
    ['another address of the same /24', ['cli/1', '192.0.2.7'], ['cli/1', '192.0.2.200'], true],
    ['another /24', ['cli/1', '192.0.2.7'], ['cli/1', '192.0.3.7'], false],
    ['another user agent', ['cli/1', '192.0.2.7'], ['cli/2', '192.0.2.7'], false],
    ['IPv4 in IPv6', ['cli/1', '192.0.2.7'], ['cli/1', '::ffff:192.0.2.9'], true],
    ['the same /48', ['cli/1', '2001:db8:1:2::1'], ['cli/1', '2001:db8:1:3:4:5:6:7'], true],
    ['another /48', ['cli/1', '2001:db8:1::1'], ['cli/1', '2001:db8:2::1'], false],
    ['a /48 that ends in zeros', ['cli/1', '2001:db8::1'], ['cli/1', '2001:db8:0:1::1'], true],
    ['loopback', ['cli/1', '::1'], ['cli/1', '::1'], true],
    ['an address that is unknown', ['cli/1', 'unknown'], ['cli/1', 'unknown'], true],
  ])('%s', (_, a, b, same) => {
    expect(isSame(a, b)).toBe(same)
  })

  it('shows neither address nor user agent', () => {
    expect(fingerprintOf('cli/1', '192.0.2.7')).toMatch(/^[\w-]{43}$/)
  })
})
