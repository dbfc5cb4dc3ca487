import { describe, expect, it } from 'vitest'
import { isPublicAddress, readAllowedHosts } from '../../src/kernel/network/allowed-hosts.ts'
import type { AllowedHosts } from '../../src/kernel/network/allowed-hosts.ts'

function read(text: string): AllowedHosts {
  const hosts = readAllowedHosts(text)
  if (!hosts) throw new Error(`${text} was not read.`)
  return hosts
}

const hosts = read(
  'api.vendor.example, *.Models.example, engine.internal:8443, 10.20.0.0/16, 192.168.7.7:9443, fd00::/64',
)

describe('allowsUrl', () => {
  it.each([
    'https://api.vendor.example',
    'https://API.vendor.example:443/openai',
    'https://eu.models.example',
    'https://a.b.models.example/v2',
    'https://engine.internal:8443',
    'https://10.20.3.4',
    'https://192.168.7.7:9443',
    'https://[fd00::5]',
  ])('allows %s', (url) => expect(hosts.allowsUrl(new URL(url))).toBe(true))

  it.each([
    'http://api.vendor.example',
    'https://api.vendor.example:8443',
    'https://api.vendor.example.',
    'https://api.vendor.example.evil.example',
    'https://evilmodels.example',
    'https://models.example',
    'https://engine.internal',
    'https://localhost',
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://169.254.169.254',
    'https://[::ffff:169.254.169.254]',
    'https://[::1]',
    'https://10.21.0.1',
    'https://10.20.3.4:8080',
    'https://192.168.7.7',
    'https://8.8.8.8',
  ])('refuses %s', (url) => expect(hosts.allowsUrl(new URL(url))).toBe(false))
})

describe('allowsAddress', () => {
  it.each(['93.184.216.34', '2606:4700::1111', '10.20.255.255', 'fd00::9'])('allows %s at every port', (address) => {
    expect(hosts.allowsAddress(address, '')).toBe(true)
    expect(hosts.allowsAddress(address, '8443')).toBe(true)
  })

  it('allows an address that is listed by itself only at its port', () => {
    expect(hosts.allowsAddress('192.168.7.7', '9443')).toBe(true)
    expect(hosts.allowsAddress('192.168.7.7', '')).toBe(false)
    expect(hosts.allowsAddress('192.168.7.7', '8443')).toBe(false)
    const own = read('10.1.1.1:443, [fd00::1]:8443')
    expect(own.allowsAddress('10.1.1.1', '')).toBe(true)
    expect(own.allowsAddress('fd00::1', '8443')).toBe(true)
    expect(own.allowsAddress('fd00::1', '')).toBe(false)
  })

  it.each(['10.21.0.1', '192.168.7.8', 'fd00:0:0:1::9', '127.0.0.1', 'localhost', ''])('refuses %s', (address) =>
    expect(hosts.allowsAddress(address, '')).toBe(false),
  )
})

describe('isPublicAddress', () => {
  it.each(['1.1.1.1', '172.15.0.1', '172.32.0.1', '100.128.0.1', '2001:4860:4860::8888', '2a00:1450::1'])(
    'knows %s as public',
    (address) => expect(isPublicAddress(address)).toBe(true),
  )

  it.each([
    ['this network', '0.0.0.0'],
    ['loopback', '127.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '192.168.0.1'],
    ['shared', '100.64.0.1'],
    ['link-local: the metadata service', '169.254.169.254'],
    ['a metadata service at a public address', '168.63.129.16'],
    ['multicast', '224.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['loopback', '::1'],
    ['unspecified', '::'],
    ['link-local', 'fe80::1'],
    ['unique local: a metadata service', 'fd00:ec2::254'],
    ['IPv4-mapped', '::ffff:127.0.0.1'],
    ['IPv4-mapped, also of a public address', '::ffff:1.1.1.1'],
    ['IPv4-compatible', '::127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['6to4', '2002:7f00:1::'],
    ['Teredo', '2001:0:53aa:64c::1'],
    ['documentation', '2001:db8::1'],
    ['multicast', 'ff02::1'],
  ])('knows that %s is not public: %s', (_name, address) => expect(isPublicAddress(address)).toBe(false))
})

describe('readAllowedHosts', () => {
  it('names what an admin can choose from', () => {
    expect(hosts.names).toEqual(['api.vendor.example', '*.Models.example', 'engine.internal:8443', '192.168.7.7:9443'])
  })

  it.each([
    '',
    '*',
    '*.',
    'https://a.example',
    'a.example/v1',
    'user@a.example',
    'a b',
    '10.0.0.0/33',
    '*.10.0.0.1',
    'a,',
  ])('refuses %j', (text) => expect(readAllowedHosts(text)).toBeNull())
})
