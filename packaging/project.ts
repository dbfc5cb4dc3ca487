import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** The folder of the repository. */
export const root = path.join(import.meta.dirname, '..')

/** What is read of the repository's package.json. */
type PackageJson = {
  readonly version: string
  readonly license: string
  readonly description: string
  readonly overrides: object
}

/** The repository's own package. */
export const project = readJson(path.join(root, 'package.json')) as PackageJson

/** Reads a JSON file. */
export function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'))
}

/** Writes a JSON file that people can read. */
export function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`)
}
