/**
 * `npm run pack -- [--out FOLDER] [NAME...]`: builds the packages `svc`, `@svc/client` and `@svc/cli` as JavaScript
 * and packs them into `.packages/*.tgz`. Node.js strips no types below node_modules, so nothing that is packed is
 * TypeScript. Prints the tarballs.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
mkdirSync(out, { recursive: true })
for (const build of builds) await pack(build)

function readArguments() {
  try {
    const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true })
    const unknown = positionals.find((name) => !Object.hasOwn(PACKAGES, name))
    if (unknown !== undefined) throw new Error(`There is no package ${unknown}.`)
    const wanted = Object.entries(PACKAGES).filter(([name]) => positionals.length === 0 || positionals.includes(name))
    return { out: path.resolve(values.out ?? path.join(root, '.packages')), builds: wanted.map(([, build]) => build) }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    console.error('Usage: npm run pack -- [--out FOLDER] [NAME...]')
    console.error(`Names: ${Object.keys(PACKAGES).join(', ')}. Without a name, all are packed.`)
    process.exit(1)
  }
}

/** The package is built in a folder of its own: `out` may have folders with the same names. */
async function pack(build: Build): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-pack-'))
  try {
    await build(folder)
    const printed = execFileSync('npm', ['pack', folder, '--json', '--pack-destination', out], { encoding: 'utf8' })
    // npm 11 prints a list, npm 12 an object by package name.
    const [packed] = Object.values(JSON.parse(printed) as Record<string, { filename: string }>)
    console.log(path.join(out, packed?.filename ?? ''))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
