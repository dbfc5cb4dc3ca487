import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { publint } from 'publint'
import { rolldown } from 'rolldown'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sdkExample } from '../../src/docs/getting-started.ts'
import { startEngine } from '../support/engine.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const run = promisify(execFile)
const root = path.join(import.meta.dirname, '../..')
const bin = (name: string) => path.join(root, 'node_modules/.bin', name)

type Packed = { readonly dependencies: Readonly<Record<string, string>> }

let project: string
let tarball: string

// An empty project in which only the packed SDK and its dependencies are installed.
beforeAll(async () => {
  project = await mkdtemp(path.join(tmpdir(), 'svc-package-'))
  await mkdir(path.dirname(ownFile()), { recursive: true })
  await writeFile(ownFile(), 'mine')
  const packing = ['packaging/pack.ts', 'client', '--out', path.join(project, 'packed')]
  tarball = (await run(process.execPath, packing, { cwd: root })).stdout.trim()
  await writeFile(path.join(project, 'package.json'), '{ "name": "empty", "private": true, "type": "module" }')
  await mkdir(installed(), { recursive: true })
  await run('tar', ['-xzf', tarball, '-C', installed(), '--strip-components', '1'])
  const { dependencies } = JSON.parse(await readFile(path.join(installed(), 'package.json'), 'utf8')) as Packed
  for (const name of Object.keys(dependencies))
    await symlink(path.join(root, 'node_modules', name), path.join(project, 'node_modules', name))
})
afterAll(() => rm(project, { recursive: true }))

const installed = () => path.join(project, 'node_modules/@svc/client')

/** A file of somebody else, in a folder that has the name of the package. */
const ownFile = () => path.join(project, 'packed/client/notes.txt')

it('packing keeps the other files of its destination', async () => {
  expect(await readFile(ownFile(), 'utf8')).toBe('mine')
})

describe('the packed SDK', () => {
  it('is smaller than 13 kB compressed, without types', async () => {
    const files = (await readdir(installed())).filter((name) => !name.endsWith('.d.ts'))
    const texts = await Promise.all(files.map((name) => readFile(path.join(installed(), name))))
    expect(files).toContain('README.md')
    expect(gzipSync(Buffer.concat(texts)).length).toBeLessThan(13_000)
  })

  it('has no problem that publint reports', async () => {
    const { messages } = await publint({ pkgDir: installed(), pack: false, level: 'suggestion' })
    expect(messages).toEqual([])
  })

  it('resolves with its types under every module resolution for ES modules', async () => {
    // When there is a problem, the command fails and prints the reason.
    await run(bin('attw'), ['--profile', 'esm-only', '--format', 'ascii', '--no-emoji', tarball])
  })

  it('imports modules of Node.js only in the file store', async () => {
    const files = (await readdir(installed())).filter((name) => name.endsWith('.js') && !name.startsWith('node'))
    for (const file of files) {
      expect(await readFile(path.join(installed(), file), 'utf8'), file).not.toMatch(/['"]node:|\.\/node/)
    }
  })

  it('is tree-shakable: a bundle contains only the functions that are used', async () => {
    const entry = path.join(project, 'entry.js')
    await writeFile(entry, `import { events } from '@svc/client'; globalThis.events = events`)
    await using bundle = await rolldown({ input: entry, cwd: project, platform: 'browser' })
    const { output } = await bundle.generate({ minify: true })
    const code = output.map((part) => ('code' in part ? part.code : '')).join('')
    expect(code).not.toMatch(/auth\/device|Retry-After|retry-after/)
    expect(code.length).toBeLessThan(2_000)
  })
})

const parsed = new Map<string, ts.SourceFile | undefined>()

/** A compiler host that parses the declarations of the language and of Node.js once for all programs of this file. */
function makeSharingHost(compilerOptions: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(compilerOptions)
  const getSourceFile: ts.CompilerHost['getSourceFile'] = (file, version, ...rest) => {
    if (!/\/node_modules\/(typescript\/lib|@types\/node|undici-types)\//.test(file))
      return host.getSourceFile(file, version, ...rest)
    const format = typeof version === 'object' ? version.impliedNodeFormat : undefined
    const key = `${format} ${file}`
    if (!parsed.has(key)) parsed.set(key, host.getSourceFile(file, version, ...rest))
    return parsed.get(key)
  }
  return { ...host, getSourceFile }
}

describe('the types of the packed SDK', () => {
  const options = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    exactOptionalPropertyTypes: true,
    skipDefaultLibCheck: true,
  }

  /** Type-checks a program in a folder of the project, as `tsc` does; returns the problems. */
  async function check(name: string, code: string, compilerOptions: object): Promise<string> {
    const folder = path.join(project, name)
    await mkdir(folder, { recursive: true })
    await writeFile(path.join(folder, 'code.ts'), code)
    await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }')
    const config = ts.parseJsonConfigFileContent({ compilerOptions, files: ['code.ts'] }, ts.sys, folder)
    const program = ts.createProgram(config.fileNames, config.options, makeSharingHost(config.options))
    const problems = [...config.errors, ...ts.getPreEmitDiagnostics(program)]
    return ts.formatDiagnostics(problems, {
      getCurrentDirectory: () => folder,
      getCanonicalFileName: (file) => file,
      getNewLine: () => '\n',
    })
  }

  it('accept the example of the README in a project for Node.js', async () => {
    // The declarations are checked in the browser project below. Other module resolutions are checked by attw above.
    const node = { skipLibCheck: true, types: ['node'], typeRoots: [path.join(root, 'node_modules/@types')] }
    expect(await check('node', await readmeExample(), { ...options, module: 'nodenext', ...node })).toBe('')
  })

  it('accept valid calls in a browser project, and reject what is not in the contract', async () => {
    const code = `
      import { createClient, streamMessage, streamResponse, SvcError, unwrap } from '@svc/client'
      import type { ErrorCode, StoredTokens, TokenSet } from '@svc/client'
      const client = createClient({ baseUrl: 'https://svc.example.com', accessToken: async () => 'token' })
      const { data } = await unwrap(client.GET('/v1/models'))
      export const ids: string[] = data.map(({ id }) => id)
      for await (const { type, delta } of streamMessage(client, { max_tokens: 1, messages: [] })) {
        const text: string = delta?.text ?? type
        text.length
      }
      for await (const { type, delta } of streamResponse(client, { input: '' })) {
        const text: string = type === 'response.output_text.delta' ? (delta ?? '') : ''
        text.length
      }
      const { error } = await client.POST('/v1/auth/device/poll', { body: { deviceCode: 'x' } })
      if (error?.error.code === 'authorization_pending') error.error.message.length
      export const pending: ErrorCode = 'authorization_pending'
      export const slow: ErrorCode = 'slow_down'
      export const isOver = (thrown: unknown) => thrown instanceof SvcError && thrown.code === 'expired'
      export const stored = (tokens: TokenSet): StoredTokens => tokens
      // @ts-expect-error: the contract has no such route.
      await client.GET('/v1/nothing')
      // @ts-expect-error: the contract has no such code.
      export const wrong: ErrorCode = 'no_such_code'
      // @ts-expect-error: the device code is missing.
      await client.POST('/v1/auth/device/poll', { body: {} })
    `
    const browser = { module: 'esnext', moduleResolution: 'bundler', lib: ['es2022', 'dom', 'dom.iterable'], types: [] }
    expect(await check('browser', code, { ...options, ...browser })).toBe('')
  })
})

describe('the example program', () => {
  it('of the README has at most fifteen lines', async () => {
    expect((await readmeExample()).trim().split('\n').length).toBeLessThanOrEqual(15)
  })

  it('of the README logs in and streams an answer, and streams without a login when it runs again', async () => {
    await using engine = await startEngine()
    await using service = await startService({
      env: { SVC_LOCAL_ENGINE_URL: engine.url.href, SVC_POLL_INTERVAL_SECONDS: '1' },
    })
    await writeFile(path.join(project, 'example.ts'), await readmeExample())

    const first = await runExample(service)
    expect(first).toMatch(/compare the code: [A-Z]{4}-[A-Z]{4}\nHello!$/)
    expect((await stat(path.join(project, '.svc-tokens.json'))).mode & 0o777).toBe(0o600)
    expect(await runExample(service)).toBe('Hello!')
  })

  it('of /docs logs in and streams an answer', async () => {
    await using engine = await startEngine()
    await using service = await startService({
      env: { SVC_LOCAL_ENGINE_URL: engine.url.href, SVC_POLL_INTERVAL_SECONDS: '1' },
    })
    await rm(path.join(project, '.svc-tokens.json'), { force: true })
    await writeFile(
      path.join(project, 'example.ts'),
      sdkExample({ baseUrl: service.origin, gatewayUrl: service.origin }),
    )
    expect(await runExample(service)).toMatch(/Open the link in the email: [A-Z]{4}-[A-Z]{4}\nHello!$/)
  })

  /**
   * Runs the example, approves its login by email, and returns what it prints. Rejects with its error output when it
   * fails.
   */
  function runExample(service: TestService): Promise<string> {
    const env = { ...process.env, SVC_BASE_URL: service.origin, SVC_EMAIL: 'ada@example.com' }
    const child = spawn(process.execPath, ['example.ts'], { cwd: project, env })
    let printed = ''
    let failed = ''
    child.stderr.on('data', (text: Buffer) => (failed += text.toString()))
    return new Promise((resolve, reject) => {
      child.stdout.on('data', (text: Buffer) => {
        printed += text.toString()
        if (text.includes('Open the link')) service.approveByMail('ada@example.com').catch(reject)
      })
      child.on('error', reject)
      child.on('close', (code) => (code === 0 ? resolve(printed) : reject(new Error(failed))))
    })
  }
})

async function readmeExample(): Promise<string> {
  const readme = await readFile(path.join(installed(), 'README.md'), 'utf8')
  return /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
}
