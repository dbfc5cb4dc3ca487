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

type Build = (folder: string) => void | Promise<void>

const PACKAGES: Readonly<Record<string, Build>> = {
  svc: buildService,
  // `npm run generate` has built it: its types are part of what is generated.
  client: (folder) => cpSync(path.join(root, 'generated/sdk'), folder, { recursive: true }),
  cli: buildCli,
}

const { out, builds } = readArguments()
for (const [name, build] of builds) await pack(name, build)

function readArguments() {
  try {
    const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true })
    const unknown = positionals.find((name) => !Object.hasOwn(PACKAGES, name))
    if (unknown !== undefined) throw new Error(`There is no package ${unknown}.`)
    const wanted = Object.entries(PACKAGES).filter(([name]) => positionals.length === 0 || positionals.includes(name))
    return { out: path.resolve(values.out ?? path.join(root, '.packages')), builds: wanted }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error(`Usage: npm run pack [-- --out FOLDER] [-- NAMES], of ${Object.keys(PACKAGES).join(', ')}`)
    process.exit(1)
  }
}

async function pack(name: string, build: Build): Promise<void> {
  const folder = path.join(out, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await build(folder)
  const printed = execFileSync('npm', ['pack', folder, '--json', '--pack-destination', out], { encoding: 'utf8' })
  // npm 11 prints a list, npm 12 an object by package name.
  const [packed] = Object.values(JSON.parse(printed) as Record<string, { filename: string }>)
  console.log(path.join(out, packed?.filename ?? ''))
}
