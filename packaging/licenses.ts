import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { readJson } from './project.ts'

/** The licenses of installed packages, given by their folders, with the texts that they ask to be kept with them. */
export function licensesOf(folders: readonly string[]): string {
  return [...new Set(folders)]
    .filter((folder) => existsSync(path.join(folder, 'package.json')))
    .map((folder) => {
      const { name, version, license } = readJson(path.join(folder, 'package.json')) as Partial<Record<string, string>>
      const [file] = globSync(path.join(folder, 'LICEN[CS]E*'))
      return `${name} ${version} (${license ?? 'see below'})\n\n${file ? readFileSync(file, 'utf8') : ''}`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}
