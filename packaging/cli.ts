import { chmodSync, cpSync, existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { project, readJson, root, writeJson } from './project.ts'

/** `@svc/cli`: the people's commands as one file that needs nothing but Node.js 20. */
export async function buildCli(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: path.join(root, 'src/cli/people.ts'),
    platform: 'node',
    transform: { target: 'node20' },
    cwd: root,
  })
  const file = path.join(folder, 'svc.js')
  const { output } = await bundle.write({ file, format: 'esm', codeSplitting: false, comments: { legal: true } })
  chmodSync(file, 0o755)
  writeFileSync(path.join(folder, 'LICENSES.txt'), licensesOf(output[0].moduleIds))
  cpSync(path.join(import.meta.dirname, 'cli-readme.md'), path.join(folder, 'README.md'))
  writeJson(path.join(folder, 'package.json'), {
    name: '@svc/cli',
    version: project.version,
    description: 'Sign in to a svc deployment and start coding agents on it',
    license: project.license,
    type: 'module',
    engines: { node: '>=20.12' },
    bin: { svc: 'svc.js' },
    files: ['svc.js', 'LICENSES.txt'],
  })
}

/** The licenses of the packages whose code is in the bundle, which they ask to be kept with it. */
function licensesOf(moduleIds: readonly string[]): string {
  const folders = moduleIds.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0])
  return [...new Set(folders)]
    .filter((folder) => folder !== undefined && existsSync(path.join(folder, 'package.json')))
    .map((folder = '') => {
      const { name, version, license } = readJson(path.join(folder, 'package.json')) as Record<string, string>
      const [file] = globSync(path.join(folder, 'LICEN[CS]E*'))
      return `${name} ${version} (${license})\n\n${file ? readFileSync(file, 'utf8') : ''}`
    })
    .join(`\n${'-'.repeat(80)}\n\n`)
}
