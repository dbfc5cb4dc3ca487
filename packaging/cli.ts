import { chmodSync, cpSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rolldown } from 'rolldown'
import { licensesOf } from './licenses.ts'
import { project, root, writeJson } from './project.ts'

/** `@svc/cli`: the people's commands as one file that needs nothing but Node.js 20. */
export async function buildCli(folder: string): Promise<void> {
  const bundle = await rolldown({
    input: path.join(root, 'src/cli/package-entry.ts'),
    platform: 'node',
    transform: { target: 'node20' },
    cwd: root,
  })
  const file = path.join(folder, 'svc.js')
  // CommonJS, because Node.js starts it with a fifth less CPU time: it makes no ES module of each built-in one.
  const { output } = await bundle.write({ file, format: 'cjs', codeSplitting: false, comments: { legal: true } })
  chmodSync(file, 0o755)
  writeFileSync(path.join(folder, 'LICENSES.txt'), licensesOf(packagesOf(output[0].moduleIds)))
  cpSync(path.join(import.meta.dirname, 'cli-readme.md'), path.join(folder, 'README.md'))
  writeJson(path.join(folder, 'package.json'), {
    name: '@svc/cli',
    version: project.version,
    description: 'Sign in to a svc deployment and start coding agents on it',
    license: project.license,
    type: 'commonjs',
    engines: { node: '>=20.12' },
    bin: { svc: 'svc.js' },
    files: ['svc.js', 'LICENSES.txt'],
  })
}

/** The folders of the packages whose code is in the bundle. */
function packagesOf(moduleIds: readonly string[]): string[] {
  const folders = moduleIds.map((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0])
  return folders.filter((folder) => folder !== undefined)
}
