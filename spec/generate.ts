/**
 * `npm run generate` writes generated/ from spec/ and prisma/schema.prisma. The same input always gives the same bytes,
 * so that `npm run drift` can compare them with what is committed.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { toPublished } from './published.ts'

const root = path.join(import.meta.dirname, '..')
const generated = path.join(root, 'generated')
const sdk = path.join(generated, 'sdk')

compileContract()
writeTypes()
writeSdk()
writePrismaClient()

function compileContract(): void {
  run('tsp', ['compile', 'spec/main.tsp', '--config', 'tspconfig.yaml'])
  const file = path.join(generated, 'openapi.json')
  const document = readFileSync(file, 'utf8')
  // openapi-typescript ignores this keyword, so the types of open models would be closed.
  if (document.includes('unevaluatedProperties')) {
    throw new Error(
      'The document contains "unevaluatedProperties". Use Open (spec/fields.tsp) and Closed (spec/parts.tsp).',
    )
  }
  // What the emitter has just written.
  const published = toPublished(JSON.parse(document) as Parameters<typeof toPublished>[0])
  writeFileSync(file, `${JSON.stringify(published, null, 2)}\n`)
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

/**
 * Writes the package that integrators install: src/sdk compiled to JavaScript, its README, and the types of the
 * contract.
 */
function writeSdk(): void {
  rmSync(sdk, { recursive: true, force: true })
  mkdirSync(sdk, { recursive: true })
  copyFileSync(path.join(generated, 'openapi.ts'), path.join(sdk, 'openapi.d.ts'))
  copyFileSync(path.join(root, 'src/sdk/README.md'), path.join(sdk, 'README.md'))
  run('tsc', ['-p', 'src/sdk/tsconfig.json'])
  nameTypesByPath()
  writeFileSync(path.join(sdk, 'package.json'), `${JSON.stringify(sdkPackage(), null, 2)}\n`)
}

/**
 * Replaces the import name `#openapi`, which exists only inside this project, by the path of the file in the package.
 */
function nameTypesByPath(): void {
  for (const name of readdirSync(sdk).filter((name) => name.endsWith('.d.ts'))) {
    const file = path.join(sdk, name)
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll("'#openapi'", "'./openapi.js'"))
  }
}

/**
 * The package.json of the SDK. Its version is the version of the contract, because a breaking change of one breaks the
 * other.
 */
function sdkPackage(): object {
  const { license, dependencies } = readJson('package.json') as PackageJson
  const { info } = readJson('generated/openapi.json') as { info: { version: string } }
  return {
    name: '@svc/client',
    version: info.version,
    description: 'Typed client of a svc deployment: device login and model calls',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: {
      '.': { types: './index.d.ts', default: './index.js' },
      './node': { types: './node.d.ts', default: './node.js' },
      './package.json': './package.json',
    },
    dependencies: { 'openapi-fetch': dependencies['openapi-fetch'] },
  }
}

function writePrismaClient(): void {
  // The command would download an engine that it does not use here. Any executable in its place prevents that.
  run('prisma', ['generate'], { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath })
}

type PackageJson = { license: string; dependencies: Record<string, string> }

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'))
}

function run(command: string, args: readonly string[], env: Record<string, string> = {}): void {
  const { status, stdout } = spawnSync(path.join(root, 'node_modules/.bin', command), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  // TypeSpec writes the mistakes of a specification to stdout.
  if (status !== 0) throw new Error(`${command} failed.\n${stdout}`)
}
