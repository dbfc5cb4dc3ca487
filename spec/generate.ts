/**
 * `npm run generate`: everything in generated/ from spec/ and prisma/schema.prisma. The same input gives the same bytes, so CI compares.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const generated = path.join(root, 'generated')
const sdk = path.join(generated, 'sdk')

compileContract()
writeTypes()
writeSdk()
writePrismaClient()

function compileContract(): void {
  run('tsp', ['compile', 'spec/main.tsp', '--config', 'tspconfig.yaml'])
  const document = readFileSync(path.join(generated, 'openapi.json'), 'utf8')
  // Type generation drops this keyword: open models would become closed types.
  if (document.includes('unevaluatedProperties')) {
    throw new Error('The document contains "unevaluatedProperties". Use the models Open and Closed of spec/fields.tsp.')
  }
}

function writeTypes(): void {
  run('openapi-typescript', [
    'generated/openapi.json',
    '-o',
    'generated/openapi.ts',
    '--root-types',
    '--root-types-no-schema-prefix',
  ])
}

/** The package that integrators install: the compiled layer of src/sdk, the types, the document. */
function writeSdk(): void {
  rmSync(sdk, { recursive: true, force: true })
  mkdirSync(sdk, { recursive: true })
  copyFileSync(path.join(generated, 'openapi.ts'), path.join(sdk, 'openapi.d.ts'))
  copyFileSync(path.join(generated, 'openapi.json'), path.join(sdk, 'openapi.json'))
  run('tsc', ['-p', 'src/sdk/tsconfig.json'])
  writeFileSync(path.join(sdk, 'package.json'), `${JSON.stringify(sdkPackage(), null, 2)}\n`)
}

function sdkPackage(): object {
  const { version, license, dependencies } = readJson('package.json')
  return {
    name: '@svc/client',
    version,
    description: 'Typed client of a svc deployment: device login and model calls',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './openapi.json': './openapi.json' },
    imports: { '#openapi': { types: './openapi.d.ts', default: './openapi.json' } },
    dependencies: { 'openapi-fetch': dependencies['openapi-fetch'] },
  }
}

function writePrismaClient(): void {
  // The command wants an engine that it never starts and would download it; any executable will do.
  run('prisma', ['generate'], { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath })
}

type PackageJson = { version: string; license: string; dependencies: Record<string, string> }

function readJson(file: string): PackageJson {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8')) as PackageJson
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): void {
  const { status } = spawnSync(path.join(root, 'node_modules/.bin', command), args, {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...env },
  })
  if (status !== 0) throw new Error(`${command} failed.`)
}
