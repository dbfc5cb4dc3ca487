import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const SOURCE = path.join(import.meta.dirname, '../../src/compile-cache.js')

let home: string
beforeEach(() => void (home = mkdtempSync(path.join(tmpdir(), 'svc-cache-'))))
afterEach(() => rmSync(home, { recursive: true, force: true }))

const compiled = () => path.join(home, 'svc', 'compiled')

/** Prints where Node keeps compiled code after a start of a version. */
function start(version: string, env: Readonly<Record<string, string>> = { XDG_CACHE_HOME: home }): string {
  const program = `
    import { getCompileCacheDir } from 'node:module'
    import { keepCompiledCode } from ${JSON.stringify(SOURCE)}
    keepCompiledCode(${JSON.stringify(version)}, process.env)
    console.log(getCompileCacheDir() ?? 'nowhere')
  `
  return execFileSync(process.execPath, ['--input-type=module', '--eval', program], { env, encoding: 'utf8' }).trim()
}

/** Leaves a folder as a version would that was started so many days ago. */
function leave(version: string, daysAgo: number): void {
  const folder = path.join(compiled(), version)
  const then = new Date(Date.now() - daysAgo * 86_400_000)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, 'code'), '')
  utimesSync(folder, then, then)
}

describe.skipIf(process.platform === 'win32' || process.platform === 'darwin')('compiled code', () => {
  it('is kept in a private folder of the version, and versions that are not started any more are removed', () => {
    leave('0.0.1', 31)
    leave('0.0.2', 29)
    expect(path.dirname(start('0.0.3'))).toBe(path.join(compiled(), '0.0.3'))
    expect(readdirSync(compiled()).sort()).toEqual(['0.0.2', '0.0.3'])
    expect(statSync(path.join(compiled(), '0.0.3')).mode & 0o777).toBe(0o700)
    leave('0.0.1', 31)
    leave('0.0.3', 31)
    start('0.0.3')
    expect(readdirSync(compiled()), 'only a first start removes').toContain('0.0.1')
    expect(Date.now() - statSync(path.join(compiled(), '0.0.3')).mtimeMs).toBeLessThan(86_400_000)
  })

  it('is kept where NODE_COMPILE_CACHE says, and nothing is removed there', () => {
    leave('0.0.1', 31)
    expect(path.dirname(start('0.0.3', { XDG_CACHE_HOME: home, NODE_COMPILE_CACHE: compiled() }))).toBe(compiled())
    expect(existsSync(path.join(compiled(), '0.0.1'))).toBe(true)
  })

  it('is not kept when the folder cannot be made, and the service starts', () => {
    writeFileSync(path.join(home, 'svc'), 'a file')
    expect(start('0.0.3')).toBe('nowhere')
  })
})
