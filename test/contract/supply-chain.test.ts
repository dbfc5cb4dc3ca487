import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT } from '../support/source/documents.ts'

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const readJson = (file: string): unknown => JSON.parse(read(file))

type Locked = {
  readonly dev?: boolean
  /** Needed by development, and optional for something else. */
  readonly devOptional?: boolean
  readonly hasInstallScript?: boolean
  readonly integrity?: string
  readonly link?: boolean
}
const { packages } = readJson('package-lock.json') as { packages: Readonly<Record<string, Locked>> }
const { dependencies } = readJson('package.json') as { dependencies: Readonly<Record<string, string>> }

/** Dependencies that no file imports by their name, and why they are there. */
const NOT_IMPORTED: Readonly<Record<string, string>> = {
  node: 'the Node.js that npm puts on PATH',
  '@prisma/client': 'imported by generated/prisma',
  '@simplewebauthn/browser': 'served to browsers, found by its path',
}

describe('the lock file', () => {
  const locked = Object.entries(packages).filter(([name]) => name !== '')

  it('has a checksum for every package', () => {
    expect(locked.length).toBeGreaterThan(100)
    expect(locked.filter(([, { integrity, link }]) => !integrity && !link).map(([name]) => name)).toEqual([])
  })

  it('has one package of production with an install script, the one that brings Node.js', () => {
    const withScript = locked.filter(
      ([, { dev, devOptional, hasInstallScript }]) => hasInstallScript && !dev && !devOptional,
    )
    expect(withScript.map(([name]) => name)).toEqual(['node_modules/node'])
  })
})

describe('the dependencies of production', () => {
  it('are imported by the source, or have a reason', () => {
    // By their text, because to parse all sources takes seconds of CPU time.
    const imports = globSync('src/**/*.ts', { cwd: ROOT })
      .flatMap((file) => [...read(file).matchAll(/(?:from |import |import\()'([^']+)'/g)])
      .map(([, specifier = '']) => specifier)
    const imported = new Set(imports.map(toPackage))
    const unused = Object.keys(dependencies).filter((name) => !imported.has(name))
    expect(unused.toSorted()).toEqual(Object.keys(NOT_IMPORTED).toSorted())
  })
})

/** `@scope/name` or `name` of `@scope/name/file`. */
function toPackage(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
