import { describe, expect, it } from 'vitest'
import { chooseDeviceName, readUserAgentName } from '../../src/control/devices/device-name.ts'

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
