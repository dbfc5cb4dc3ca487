import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** The folder of the repository. */
export const root = path.join(import.meta.dirname, '..')

/** What is read of the repository's package.json. */
type PackageJson = {
  readonly version: string
  readonly license: string
  readonly description: string
  readonly dependencies: Readonly<Record<string, string>>
}

export const project = readJson<PackageJson>(path.join(root, 'package.json'))

export function readJson<T>(file: string): T {
  return JSON.parse(readFileSync(file, 'utf8')) as T
}

export function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}
