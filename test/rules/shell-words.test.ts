import { describe, expect, it } from 'vitest'
import { quoteForPowerShell, quoteForShell } from '../../src/cli/terminal/shell.ts'

const NODE = String.raw`C:\Program Files\nodejs\node.exe`

describe('an argument in a command line', () => {
  it.each<[string, NodeJS.Platform, string]>([
    ['token', 'linux', 'token'],
    ['token', 'win32', 'token'],
    ['/opt/my node', 'darwin', "'/opt/my node'"],
    ["it's", 'linux', String.raw`'it'\''s'`],
    // cmd.exe does not know single quotes.
    [NODE, 'win32', `"${NODE}"`],
    ['https://svc.example.com/a&b', 'win32', '"https://svc.example.com/a&b"'],
  ])('%s on %s', (argument, platform, word) => {
    expect(quoteForShell(argument, platform)).toBe(word)
  })
})

describe('a string of PowerShell', () => {
  it.each([
    ['https://svc.example.com', "'https://svc.example.com'"],
    ["$(x)';calc;'", "'$(x)'';calc;'''"],
    ['\u2019;calc;\u2019', "'\u2019\u2019;calc;\u2019\u2019'"],
  ])('%s', (text, string) => {
    expect(quoteForPowerShell(text)).toBe(string)
  })
})
