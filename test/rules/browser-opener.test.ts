import { describe, expect, it } from 'vitest'
import { chooseOpener } from '../../src/cli/terminal/browser.ts'

const SCREEN = { DISPLAY: ':0' }
const PAGE = 'https://svc.example.com/v1/auth/magic/consume?token=svcm_x'

describe('the command that opens a page', () => {
  it.each<[NodeJS.Platform, readonly string[]]>([
    ['linux', ['xdg-open', PAGE]],
    ['darwin', ['open', PAGE]],
    ['win32', ['rundll32', 'url.dll,FileProtocolHandler', PAGE]],
  ])('of %s', (platform, command) => {
    expect(chooseOpener(PAGE, SCREEN, platform)).toEqual(command)
  })

  it.each<[string, Record<string, string>]>([
    ['on a machine without a screen', {}],
    ['of somebody who is signed in over the network', { ...SCREEN, SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' }],
  ])('does not exist %s', (_, variables) => {
    expect(chooseOpener(PAGE, variables, 'linux')).toBeNull()
  })

  it.each([
    'file:///C:/Windows/System32/calc.exe',
    String.raw`\\evil.example\share\run.exe`,
    'C:/Windows/System32/calc.exe',
    'ms-msdt:/id',
    'javascript:alert(1)',
    '--help',
    '',
  ])('does not exist for what is no web page: %s', (page) => {
    for (const platform of ['linux', 'darwin', 'win32'] as const)
      expect(chooseOpener(page, SCREEN, platform)).toBeNull()
  })

  it('gets one address, whatever characters the deployment sends', () => {
    expect(chooseOpener('http://localhost:1/a b"c`d', SCREEN, 'linux')).toEqual([
      'xdg-open',
      'http://localhost:1/a%20b%22c%60d',
    ])
  })
})
