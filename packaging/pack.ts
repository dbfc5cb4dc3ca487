/**
 * `npm run pack -- [--out FOLDER] [NAME...]`: builds the packages `svc`, `@svc/client` and `@svc/cli` as JavaScript
 * and packs them into `.packages/*.tgz`. Node.js strips no types below node_modules, so nothing that is packed is
 * TypeScript. Prints the tarballs.
 */
import { cpSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildCli } from './cli.ts'
import { root } from './project.ts'
import { buildService } from './service.ts'
import { packInto } from './tarball.ts'
import type { Build } from './tarball.ts'

const PACKAGES: Readonly<Record<string, Build>> = {
  svc: buildService,
  // `npm run generate` has built it: its types are part of what is generated.
  client: (folder) => cpSync(path.join(root, 'generated/sdk'), folder, { recursive: true }),
  cli: buildCli,
}

const { out, builds } = readArguments()
mkdirSync(out, { recursive: true })
for (const build of builds) console.log(await packInto(out, build))

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
