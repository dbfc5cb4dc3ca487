import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const ROOT = path.join(import.meta.dirname, '../..')

/**
 * What each part of `src` may import, besides itself and `generated`. A part is a folder or a file of `src`. The arrows point down:
 * whoever is further up knows whoever is further down, and never the other way round. Siblings do not know each other.
 */
const EDGES = ['config', 'database', 'log', 'mail']
const SERVER = ['directory', 'access', 'http', 'database', 'kernel']
const ROLES = ['control', 'gateway', 'docs']
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  log: ['kernel'],
  config: ['log', 'kernel'],
  mail: ['config', 'log', 'kernel'],
  database: ['config', 'kernel'],
  http: ['log', 'kernel'],
  access: ['log', 'database', 'kernel'],
  directory: ['database', 'kernel'],
  docs: ['http', 'kernel'],
  control: [...SERVER, 'config', 'log', 'mail'],
  gateway: [...SERVER, 'config', 'log'],
  server: [...ROLES, ...SERVER, ...EDGES],
  cli: ['server', 'sdk', ...EDGES, 'kernel'],
  main: ['cli'],
  sdk: [],
}

/** Who may do by itself what tests must be able to replace, and why. */
const ALLOWED: Readonly<Record<string, readonly { readonly file: string; readonly why: string }[]>> = {
  'process.env': [
    { file: 'src/config.ts', why: 'the one reader of settings' },
    { file: 'src/cli/environment.ts', why: 'the people’s commands, which have no settings of the service' },
  ],
  clock: [
    { file: 'src/mail.ts', why: 'names of files in the outbox: nothing decides by them' },
    { file: 'src/sdk/node.ts', why: 'a client: it compares the age of a lock file, which the machine’s clock wrote' },
  ],
  random: [
    { file: 'src/http/app.ts', why: 'request ids: names, not secrets' },
    { file: 'src/mail.ts', why: 'names of files in the outbox' },
    { file: 'src/database/migrations.ts', why: 'row ids in the migrations’ own book-keeping' },
    { file: 'src/control/oauth/routes.ts', why: 'an id for a device that has none: a name, not a secret' },
    { file: 'src/control/passkeys/login.ts', why: 'an id for a browser that has none: a name, not a secret' },
    { file: 'src/sdk/node.ts', why: 'a client: names of files beside the credentials' },
    { file: 'src/cli/profiles.ts', why: 'a client: the id of this machine, and names of files beside the credentials' },
  ],
}

type Import = { readonly to: string; readonly names: readonly string[]; readonly isType: boolean }
type Source = {
  /** From the repository's folder: `src/http/app.ts`. */
  readonly file: string
  readonly part: string
  readonly imports: readonly Import[]
  readonly tree: ts.SourceFile
}

const sources = globSync('src/**/*.ts', { cwd: ROOT }).map(readSource)

function readSource(file: string): Source {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  return { file, part: partOf(file), imports: importsOf(tree), tree }
}

/** `src/http/app.ts` is of `http`, `src/main.ts` of `main`, anything else of the folder it is in. */
function partOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  return top === 'src' ? second.replace(/\.ts$/, '') : top
}

/** What a file imports and exports from elsewhere; paths from the repository's folder, packages by name. */
function importsOf(tree: ts.SourceFile): Import[] {
  const found: Import[] = []
  const add = (module: ts.Expression | undefined, names: readonly string[], isType: boolean) => {
    if (!module || !ts.isStringLiteral(module)) return
    const isOurs = module.text.startsWith('.')
    const to = isOurs ? path.join(path.dirname(tree.fileName), module.text) : module.text
    found.push({ to: to === '#openapi' ? 'generated/openapi.ts' : to, names, isType })
  }
  visit(tree, (node) => {
    if (ts.isImportDeclaration(node)) {
      const bindings = node.importClause?.namedBindings
      const elements = bindings && ts.isNamedImports(bindings) ? [...bindings.elements] : []
      const isType =
        node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword ||
        (elements.length > 0 && !node.importClause?.name && elements.every((element) => element.isTypeOnly))
      const names = elements.map((element) => (element.propertyName ?? element.name).text)
      add(node.moduleSpecifier, bindings && ts.isNamespaceImport(bindings) ? ['*'] : names, isType)
    }
    if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, [], node.isTypeOnly)
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], ['*'], false)
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, [], true)
  })
  return found
}

function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  ts.forEachChild(node, (child) => visit(child, see))
}

/** The files in which something of this kind is, one line each. */
function whereIs(matches: (node: ts.Node, source: Source) => boolean): string[] {
  return sources.flatMap((source) => {
    const lines: number[] = []
    visit(source.tree, (node) => {
      if (matches(node, source)) lines.push(source.tree.getLineAndCharacterOfPosition(node.getStart()).line + 1)
    })
    return lines.slice(0, 1).map((line) => `${source.file}:${line}`)
  })
}

const isAllowed = (kind: string) => (where: string) =>
  (ALLOWED[kind] ?? []).some(({ file }) => where.startsWith(`${file}:`)) || where.startsWith('src/kernel/')

const isCall = (node: ts.Node, object: string, name: string) =>
  ts.isPropertyAccessExpression(node) && node.expression.getText() === object && node.name.text === name

const isNewDate = (node: ts.Node) =>
  ts.isNewExpression(node) && node.expression.getText() === 'Date' && (node.arguments ?? []).length === 0

const RANDOM = [
  'randomBytes',
  'randomUUID',
  'randomInt',
  'randomFill',
  'randomFillSync',
  'getRandomValues',
  'webcrypto',
]

describe('imports', () => {
  it('the rules below know every part of src', () => {
    const parts = new Set(sources.map(({ part }) => part))
    expect([...parts].filter((part) => !(part in MAY_IMPORT))).toEqual([])
  })

  it('point down, never up and never aside', () => {
    const wrong = sources.flatMap(({ file, part, imports }) =>
      imports
        .filter(({ to }) => to.startsWith('src/') && partOf(to) !== part)
        .filter(({ to }) => !(MAY_IMPORT[part] ?? []).includes(partOf(to)))
        .map(({ to }) => `${file} -> ${to}`),
    )
    expect(wrong).toEqual([])
  })

  it('stay inside src and generated', () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports.filter(({ to }) => /^(\.\.|test|prisma|spec)\b/.test(to)).map(({ to }) => `${file} -> ${to}`),
    )
    expect(wrong).toEqual([])
  })

  it('of the SDK are generated things and packages only', () => {
    const wrong = sources
      .filter(({ part }) => part === 'sdk')
      .flatMap(({ file, imports }) =>
        imports.filter(({ to }) => /^src\/(?!sdk\/)/.test(to)).map(({ to }) => `${file} -> ${to}`),
      )
    expect(wrong).toEqual([])
  })

  it('of one flow are no routes of another', () => {
    const flowOf = (file: string) => /^src\/(?:control|gateway)\/([^/]+)\//.exec(file)?.[1]
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ to }) => flowOf(file) !== undefined && to.endsWith('/routes.ts') && flowOf(to) !== flowOf(file))
        .map(({ to }) => `${file} -> ${to}`),
    )
    expect(wrong).toEqual([])
  })

  it('of rules are no rows, no requests and nothing generated', () => {
    const wrong = sources
      .filter(({ file }) => file.endsWith('/rules.ts'))
      .flatMap(({ file, imports }) =>
        imports
          .filter(
            ({ to, isType }) =>
              to.startsWith('generated/') ||
              (!isType && /^node:(fs|http|https|net|timers)|^(express|pg|undici)$|\/(store|routes)\.ts$/.test(to)),
          )
          .map(({ to }) => `${file} -> ${to}`),
      )
    expect(wrong).toEqual([])
  })

  it.each([
    ['express', (file: string) => file.startsWith('src/http/'), (to: string) => /^express(-|$)/.test(to)],
    [
      'Prisma',
      (file: string) => file.endsWith('/store.ts') || /^src\/database\//.test(file),
      (to: string) => to.startsWith('generated/prisma/') || to.startsWith('@prisma/') || to === 'pglite-prisma-adapter',
    ],
    [
      'the drivers of databases',
      (file: string) => /^src\/database\//.test(file),
      (to: string) => to === 'pg' || to === '@electric-sql/pglite',
    ],
  ])('of %s at run time are where it belongs', (_, belongs, is) => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports.filter(({ to, isType }) => !isType && is(to) && !belongs(file)).map(({ to }) => `${file} -> ${to}`),
    )
    expect(wrong).toEqual([])
  })

  it('name the file they mean, with its ending', () => {
    const wrong = sources.flatMap(({ file, imports }) =>
      imports
        .filter(({ to }) => to.startsWith('src/') && !/\.(ts|json|js)$/.test(to))
        .map(({ to }) => `${file} -> ${to}`),
    )
    expect(wrong).toEqual([])
  })
})

describe('the gateway', () => {
  const BACKENDS_AND_DIALECTS = ['chat', 'messages', 'responses', 'vendora', 'vendorb', 'vendorc', 'local-engine']

  it('compares names of dialects and backends only in their own folders: elsewhere they are rows of tables', () => {
    const isName = (node: ts.Node) => ts.isStringLiteral(node) && BACKENDS_AND_DIALECTS.includes(node.text)
    const isComparison = (node: ts.Node) =>
      ts.isCaseClause(node)
        ? isName(node.expression)
        : ts.isBinaryExpression(node) &&
          /^[!=]==?$/.test(node.operatorToken.getText()) &&
          [node.left, node.right].some(isName)
    const found = whereIs(isComparison).filter((where) => where.startsWith('src/gateway/'))
    expect(found.filter((where) => !/^src\/gateway\/(dialects|backends)\//.test(where))).toEqual([])
  })

  it('decides in folders that touch nothing outside of the process, not even by types', () => {
    const byFile = new Map(sources.map((source) => [source.file, source]))
    const reached = new Set(
      sources.map(({ file }) => file).filter((file) => /^src\/gateway\/(dialects|plan)\//.test(file)),
    )
    for (const file of reached) for (const { to } of byFile.get(file)?.imports ?? []) reached.add(to)
    expect([...reached].filter((to) => /^node:(?!util$|crypto$)|^(undici|express|pg)$|\/store\.ts$/.test(to))).toEqual(
      [],
    )
  })
})

describe('what tests must be able to replace', () => {
  it('the environment is read in one place', () => {
    const found = whereIs((node) => isCall(node, 'process', 'env'))
    expect(found.filter((where) => !isAllowed('process.env')(where))).toEqual([])
  })

  it('the clock is read in the kernel', () => {
    const found = whereIs((node) => isCall(node, 'Date', 'now') || isNewDate(node))
    expect(found.filter((where) => !isAllowed('clock')(where))).toEqual([])
  })

  it('chance comes from the kernel', () => {
    const inText = whereIs(
      (node) => isCall(node, 'Math', 'random') || RANDOM.some((name) => isCall(node, 'crypto', name)),
    )
    const imported = sources
      .filter(({ imports }) =>
        imports.some(
          ({ to, names }) => /^(node:)?crypto$/.test(to) && names.some((name) => name === '*' || RANDOM.includes(name)),
        ),
      )
      .map(({ file }) => `${file}:1`)
    expect([...inText, ...imported].filter((where) => !isAllowed('random')(where))).toEqual([])
  })

  it('every exception is still needed', () => {
    const used: Readonly<Record<string, (source: Source) => boolean>> = {
      'process.env': ({ tree }) => tree.text.includes('process.env'),
      clock: ({ tree }) => /Date\.now\(|new Date\(\)/.test(tree.text),
      random: ({ tree }) => RANDOM.some((name) => tree.text.includes(name)),
    }
    const idle = Object.entries(ALLOWED).flatMap(([kind, exceptions]) =>
      exceptions
        .filter(({ file }) => !sources.some((source) => source.file === file && used[kind]?.(source)))
        .map(({ file }) => `${kind}: ${file}`),
    )
    expect(idle).toEqual([])
  })
})

describe('names', () => {
  it('say what is in a file: no utils, common, helpers, managers, services, bases', () => {
    const names = sources.flatMap(({ file }) => file.split('/').slice(1))
    expect(
      names.filter((name) => /^(utils?|common|helpers?|managers?|services?|base|misc|shared)(\.ts)?$/.test(name)),
    ).toEqual([])
  })

  it('are kebab-case', () => {
    const names = sources.flatMap(({ file }) => file.split('/').slice(1))
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.ts)?$/.test(name))).toEqual([])
  })

  it('are exported by themselves: no default exports', () => {
    expect(whereIs((node) => ts.isExportAssignment(node))).toEqual([])
  })
})
