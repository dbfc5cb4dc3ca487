/**
 * `npm run pack [-- --out FOLDER] [-- NAMES]`: builds the packages `svc`, `@svc/client` and `@svc/cli` as JavaScript
 * and packs them into `.packages/*.tgz`. Node.js strips no types below node_modules, so nothing that is packed is
 * TypeScript. Prints the tarballs.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildCli } from './cli.ts'
import { root } from './project.ts'
import { buildService } from './service.ts'

const PACKAGES: Readonly<Record<string, (folder: string) => void | Promise<void>>> = {
  svc: buildService,
  // `npm run generate` has built it: its types are part of what is generated.
  client: (folder) => cpSync(path.join(root, 'generated/sdk'), folder, { recursive: true }),
  cli: buildCli,
}

const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true })
const out = path.resolve(values.out ?? path.join(root, '.packages'))
for (const name of positionals.length > 0 ? positionals : Object.keys(PACKAGES)) await pack(name)

async function pack(name: string): Promise<void> {
  const build = PACKAGES[name]
  if (!build) throw new Error(`There is no package ${name}. There are: ${Object.keys(PACKAGES).join(', ')}`)
  const folder = path.join(out, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build(folder)
  const printed = execFileSync('npm', ['pack', folder, '--json', '--pack-destination', out], { encoding: 'utf8' })
  // npm 11 prints a list, npm 12 an object by package name.
  const [packed] = Object.values(JSON.parse(printed) as Record<string, { filename: string }>)
  console.log(path.join(out, packed?.filename ?? ''))
}
