import { existsSync, globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { peopleCommands } from '../../src/cli/commands.ts'
import { operatorCommands } from '../../src/cli/operators/commands.ts'
import { readConfig, warningsOf } from '../../src/config.ts'
import { SECRET_SETTING_NAMES, SETTING_NAMES } from '../../src/config/settings.ts'
import { readAdminDirectory } from '../../src/directory/admin-directory.ts'
import { readDirectoryFile } from '../../src/directory/rules.ts'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { ModelCaps } from '../../src/gateway/dialects/caps.ts'
import { readContract } from '../../src/http/contract.ts'
import { ERRORS } from '../../src/http/errors.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { anchorsOf, blocksOf, codeWordsOf, readPage, readPages, ROOT } from '../support/source/documents.ts'

const pages = readPages()
const readme = readPage('README.md')
const clients = readPage('docs/clients.md')

/** Names that look like settings and are read by somebody else. */
const NOT_SETTINGS = ['SVC_TOKEN', 'SVC_API_KEY', 'SVC_FUZZ_RUNS']

/** What every page says that `find` finds in it, with the page's name. */
function inAllPages(find: (text: string) => Iterable<string>): { readonly file: string; readonly found: string }[] {
  return pages.flatMap(({ file, text }) => [...find(text)].map((found) => ({ file, found })))
}

const matches =
  (pattern: RegExp) =>
  (text: string): string[] =>
    [...text.matchAll(pattern)].map(([whole, group]) => group ?? whole)

/** Models of admins have ids of three parts. */
const isOfAdmins = ({ code }: { readonly code: string }) => /id: \w+\/\w+\/\w+$/m.test(code)

/** The value of a capability that is left out, as docs/directory.md writes it. */
function defaultsOf(name: string): string {
  const values = DIALECT_NAMES.map((dialect) => [dialect, String(DEFAULT_CAPS[dialect][name as keyof ModelCaps])])
  const [[, first] = []] = values
  if (values.every(([, value]) => value === first)) return `\`${first}\``
  return values.map(([dialect, value]) => `\`${value}\` in ${dialect}`).join(', ')
}

describe('the documents', () => {
  it('have at most 120 columns, and README.md has at most 160 lines', () => {
    const wide = inAllPages((text) => text.split('\n').filter((line) => line.length > 120))
    expect(wide).toEqual([])
    expect(readme.text.trimEnd().split('\n').length).toBeLessThanOrEqual(160)
  })

  it('name only settings that exist', () => {
    const named = inAllPages(matches(/\bSVC_[A-Z_]+[A-Z]\b/g))
    const known = [...SETTING_NAMES, ...SECRET_SETTING_NAMES.map((name) => `${name}_FILE`), ...NOT_SETTINGS]
    expect(named.filter(({ found }) => !known.includes(found))).toEqual([])
  })

  it('list every setting that holds a secret at the start of docs/settings.md', () => {
    const [start = ''] = readPage('docs/settings.md').text.split('\n## ')
    const listed = matches(/\bSVC_[A-Z_]+[A-Z]\b/g)(start).filter((name) => !name.endsWith('_FILE'))
    expect([...new Set(listed)].toSorted()).toEqual(SECRET_SETTING_NAMES.toSorted())
  })

  it('name only npm scripts that exist, and name all of them', () => {
    const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { scripts: object }
    const named = inAllPages(matches(/\bnpm (?:run )?((?<=run )[\w:]+|start|test)\b/g))
    expect(named.filter(({ found }) => !Object.hasOwn(scripts, found))).toEqual([])
    const unnamed = Object.keys(scripts).filter((script) => !named.some(({ found }) => found === script))
    // A part of another script, which is named.
    expect(unnamed.filter((script) => script !== 'lint:contract')).toEqual([])
  })

  it('name the test command that .ci/run runs', () => {
    const [command] = readme.text.match(/(?<=^ {4})npm ci && npm test$/m) ?? []
    expect(readFileSync(path.join(ROOT, '.ci/run'), 'utf8').split('\n')).toContain(command)
  })

  it('name only commands of svc that exist', () => {
    const commands = { ...peopleCommands, ...operatorCommands }
    const named = inAllPages(matches(/(?:npx |`)svc ([a-z]+)/g))
    expect(named.length).toBeGreaterThan(10)
    expect(named.filter(({ found }) => !Object.hasOwn(commands, found))).toEqual([])
  })

  it('name only files and folders that exist', () => {
    const isPath = /^(?:src|test|spec|prisma|generated|docs|\.ci)\/[\w./-]*$/
    const named = pages.flatMap((page) =>
      codeWordsOf(page)
        .filter((word) => isPath.test(word))
        .map((found) => ({ file: page.file, found })),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter(({ found }) => !existsSync(path.join(ROOT, found)))).toEqual([])
  })

  it('show every folder of src in the tree of docs/architecture.md', () => {
    const tree = /^ {4}src\/\n((?: {6}.*\n)+)/m.exec(readPage('docs/architecture.md').text)?.[1] ?? ''
    const shown = matches(/^ {6}([\w-]+)\//gm)(tree)
    const folders = globSync('src/*/', { cwd: ROOT }).map((folder) => path.basename(folder))
    expect(shown.toSorted()).toEqual(folders.toSorted())
  })

  it('list at most 14 steps of a chat stream and 18 of a messages stream, each behind one that uses it', () => {
    const { text } = readPage('docs/architecture.md')
    const sectionOf = (heading: string) => text.split(`### ${heading}\n`)[1]?.split('\n#')[0] ?? ''
    const stepsOf = (section: string) => matches(/^\d+\. `(src\/[^`]+)`/gm)(section)
    const messages = sectionOf('A messages stream to a worker that has only chat completions')
    const chat = stepsOf(sectionOf('A chat stream to an upstream'))
    const translated = stepsOf(messages)
    expect(chat.length).toBeLessThanOrEqual(14)
    expect(chat.length + translated.length).toBeLessThanOrEqual(18)

    const [prepare = ''] = matches(/step\s+9 is `(src\/[^`]+)`/g)(messages)
    const steps = [...chat, prepare, ...translated]
    expect(new Set(steps).size).toBe(steps.length)
    const uses = (user: string, used: string) =>
      readFileSync(path.join(ROOT, user), 'utf8').includes(`${path.relative(path.dirname(user), used)}'`)
    const unused = steps.filter((step, at) => !steps.slice(0, at).some((earlier) => uses(earlier, step)))
    // Express calls the app, and the role has the handlers of calls from the composition.
    expect(unused).toEqual(['src/http/app.ts', 'src/gateway/calls/handle.ts'])
  })

  it('explain in docs/directory.md every field of the directory file', () => {
    const read = readDirectoryFile(`
      x: 1
      organizations: [{ x: 1, name: acme, teams: [{ x: 1, name: core, members: [{ x: 1, email: ada@example.com }] }] }]
      models: [{ x: 1, id: svc/a, displayName: A, owner: svc, serve: [{ x: 1, backend: b, model: m }] }]
      backends: [{ x: 1, name: b, dialects: [chat], url: 'https://b.example', credential: { x: 1, env: B } }]`)
    const known = 'mistakes' in read ? read.mistakes.flatMap(matches(/\(known: ([^)]+)\)/g)) : []
    expect(known).toHaveLength(8)
    const [, section = ''] = readPage('docs/directory.md').text.split('## Fields\n')
    const explained = new Set(matches(/`([a-zA-Z]+)`/g)(section.split('\n## ')[0] ?? ''))
    expect(known.flatMap((names) => names.split(', ')).filter((name) => !explained.has(name))).toEqual([])
  })

  it('list in docs/directory.md what a model can be asked, with the value of what is left out', () => {
    const [, section = ''] = readPage('docs/directory.md').text.split('## What a model can be asked\n')
    const [list = ''] = section.split('\n## ')
    const names = Object.keys(DEFAULT_CAPS.chat)
    expect(matches(/^- `(\w+)`/gm)(list).toSorted()).toEqual(names.toSorted())
    const words = list.replaceAll(/\s+/g, ' ')
    // The list of efforts is a sentence.
    const checked = names.filter((name) => name !== 'efforts')
    expect(checked.filter((name) => !words.includes(`- \`${name}\` (${defaultsOf(name)}): `))).toEqual([])
  })

  it('link only to pages and headings that exist', () => {
    const links = inAllPages(matches(/\]\((?!https?:)([^)]+)\)/g))
    const broken = links.filter(({ file, found }) => {
      const [target = '', anchor] = found.split('#')
      const to = target === '' ? file : path.join(path.dirname(file), target)
      return !existsSync(path.join(ROOT, to)) || (anchor !== undefined && !anchorsOf(readPage(to)).includes(anchor))
    })
    expect(broken).toEqual([])
  })

  it('name only routes of the contract', () => {
    const { paths } = readContract()
    const named = inAllPages(matches(/`(?:GET|POST|PATCH|DELETE) (\/[^ `?]*)/g))
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(({ found }) => !Object.hasOwn(paths, found))).toEqual([])
  })

  it('name only error codes that exist, with their status', () => {
    const codes = inAllPages(matches(/\b\d{3} `[a-z_]+`/g))
    const wrong = codes.filter(({ found }) => {
      const [status, code = ''] = found.replaceAll('`', '').split(' ')
      const known = Object.entries(ERRORS).find(([name]) => name === code)?.[1]
      return String(known?.status) !== status
    })
    expect(codes.length).toBeGreaterThan(5)
    expect(wrong).toEqual([])
  })
})

describe('the examples of the documents', () => {
  it('give clients addresses at which the contract has routes', () => {
    const { paths } = readContract()
    const rows = [...clients.text.matchAll(/\| `http:\/\/localhost:8787(\/.*?)` *\| `(\/.*?)`/g)]
    expect(rows.length).toBeGreaterThan(3)
    for (const [, base = '', added = ''] of rows) expect(paths).toHaveProperty([base + added])

    const bases = rows.map(([, base]) => base)
    const used = inAllPages(matches(/(?:base_?URL"?|_BASE_URL)(?:: | = |=)"?http:\/\/localhost:8787(\/[\w/]*)/gi))
    expect(used.length).toBeGreaterThan(4)
    expect(used.filter(({ found }) => !bases.includes(found))).toEqual([])
  })

  it('have directory files without mistakes', () => {
    const files = pages.flatMap((page) => blocksOf(page).filter(({ info }) => info === 'yaml'))
    const [ofAdmins, ofOperators] = [files.filter(isOfAdmins), files.filter((file) => !isOfAdmins(file))]
    expect([ofAdmins.length > 0, ofOperators.length > 1]).toEqual([true, true])
    for (const { code } of ofOperators) expect(readDirectoryFile(code)).toHaveProperty('directory')
    for (const { code } of ofAdmins) expect(readAdminDirectory(code)).toHaveProperty('teams')
  })

  it('have settings that the service accepts without a warning', () => {
    const environments = [
      blocksOf(readPage('docs/operating.md')).find(({ code }) => code.startsWith('NODE_ENV='))?.code,
      /^ {4}export SVC_BASE_URL=[\s\S]*?(?=^ {4}npm start$)/m.exec(readme.text)?.[0],
    ]
    for (const text of environments) {
      const lines = (text ?? '').match(/^\s*(?:export )?\w+=.*$/gm) ?? []
      const env: Record<string, string> = Object.fromEntries(
        lines.map((line) => line.trim().replace('export ', '').split(/=(.*)/s)),
      )
      expect(Object.keys(env).length).toBeGreaterThan(3)
      expect(warningsOf(readConfig(env), env)).toEqual([])
    }
  })
})
