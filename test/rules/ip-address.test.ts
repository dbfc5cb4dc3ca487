import { describe, expect, it } from 'vitest'
import { ipOf, toIpAddress } from '../../src/http/request.ts'

describe('toIpAddress', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:52100', '192.0.2.1'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:443', '2001:db8::1'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
    ['unknown', null],
    ['_hidden', null],
    ['192.0.2.1:port', null],
    ['192.0.2.300', null],
    ['Berlin, your colleague', null],
    ['', null],
  ])('reads %j as %j', (text, address) => {
    expect(toIpAddress(text)).toBe(address)
  })
})

describe('ipOf', () => {
  it('is the address that the proxy names, without its port', () => {
    expect(ipOf({ ip: '192.0.2.1:1234' })).toBe('192.0.2.1')
  })

  it.each(['your bank', undefined])('is unknown when the proxy names %j', (ip) => {
    expect(ipOf({ ip })).toBe('unknown')
  })
})
