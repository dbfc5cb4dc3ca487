import { describe, expect, it } from 'vitest'
import { isLoopback, readIpAddress } from '../../src/kernel/network/ip-address.ts'

describe('readIpAddress', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:4711', '203.0.113.7'],
    ['2001:db8::7', '2001:db8::7'],
    ['[2001:db8::7]', '2001:db8::7'],
    ['[2001:db8::7]:4711', '2001:db8::7'],
    ['::ffff:203.0.113.7', '::ffff:203.0.113.7'],
    ['fe80::1%eth0', 'fe80::1'],
    ['fe80::1%visit.evil.test', 'fe80::1'],
  ])('reads %s as %s', (text, address) => expect(readIpAddress(text)).toBe(address))

  it.each([
    [undefined],
    [''],
    ['unknown'],
    ['_hidden'],
    ['visit evil.test'],
    ['203.0.113.7 evil.test'],
    ['203.0.113.999'],
    ['203.0.113.7:port'],
    ['[2001:db8::7'],
    ['[evil.test]:443'],
    ['evil.test:443'],
  ])('finds no address in %s', (text) => expect(readIpAddress(text)).toBeNull())
})

describe('isLoopback', () => {
  it.each([
    ['localhost', true],
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['::1', true],
    ['[::1]', true],
    ['0.0.0.0', false],
    ['::', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.evil.example', false],
    ['10.0.0.1', false],
  ])('%s: %s', (host, loopback) => {
    expect(isLoopback(host)).toBe(loopback)
  })
})
