import path from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { UPSTREAM_NAMES, WORKER_NAME } from '../../src/kernel/backend-name.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { findCycles, lineOf, partOf, readSources, visit } from '../support/source/source-tree.ts'
import type { Source } from '../support/source/source-tree.ts'

/**
 * What each part of `src` may import, besides itself and `generated`. A part is a folder or a file of `src`. Imports point
 * down only: from the command line to the roles, from the roles to what they share, and never to a sibling.
 */
const OUTSIDE_WORLD = ['config', 'database', 'log', 'mail', 'private-files']
const SHARED = ['directory', 'spending', 'access', 'http', 'database', 'kernel']
const ROLES = ['control', 'gateway', 'docs']
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  'private-files': ['kernel'],
  log: ['kernel'],
  config: ['log', 'kernel'],
  mail: ['config', 'log', 'private-files', 'kernel'],
  database: ['config', 'log', 'private-files', 'kernel'],
  http: ['log', 'kernel'],
  access: ['log', 'database', 'private-files', 'kernel'],
  spending: ['database', 'kernel'],
  directory: ['spending', 'database', 'kernel'],
  docs: ['http', 'kernel'],
  control: [...SHARED, 'config', 'log', 'mail'],
  gateway: [...SHARED, 'config', 'log', 'private-files'],
  server: [...ROLES, ...SHARED, ...OUTSIDE_WORLD],
  cli: ['server', 'sdk', ...OUTSIDE_WORLD, 'kernel'],
  main: ['cli'],
  sdk: [],
}

/** The files that may use what tests replace, and why. */
const ALLOWED: Readonly<Record<string, readonly { readonly file: string; readonly why: string }[]>> = {
  'process.env': [
    { file: 'src/config.ts', why: 'the one reader of settings' },
    { file: 'src/cli/environment.ts', why: 'the people’s commands, which have no settings of the service' },
  ],
  clock: [
    { file: 'src/mail.ts', why: 'names of files in the outbox: nothing depends on them' },
    {
      file: 'src/sdk/node-lock.ts',
      why: 'a client: it compares the age of a lock file, which the machine’s clock wrote',
    },
  ],
  random: [
    { file: 'src/mail.ts', why: 'names of files in the outbox' },
    { file: 'src/database/migrations.ts', why: 'ids of rows in the record of migrations' },
    { file: 'src/control/oauth/routes.ts', why: 'an id for a device that has none: a name, not a secret' },
    { file: 'src/control/passkeys/login.ts', why: 'an id for a browser that has none: a name, not a secret' },
    { file: 'src/sdk/node-lock.ts', why: 'a client: names of files beside the credentials' },
    { file: 'src/sdk/node-files.ts', why: 'a client: names of files beside the one that is replaced' },
    { file: 'src/private-files.ts', why: 'names of files beside the one that is replaced' },
    { file: 'src/cli/deployment/profiles.ts', why: 'a client: the id of this machine' },
  ],
}

/** Pure folders and files: what they decide depends on their arguments only. */
const isPure = (file: string) => file.endsWith('/rules.ts') || /^src\/gateway\/(plan|dialects)\//.test(file)

/** Modules that read or write something, or whose types describe something that does. */
const INPUT_OUTPUT =
  /^node:(fs|http|https|http2|net|tls|dns|stream|timers|child_process|worker_threads|readline)\b|^(express|pg|undici|ioredis|nodemailer|pino)$|^@prisma\/|^@electric-sql\/|^generated\/prisma\/|\/(store|routes)\.ts$|^src\/(database|server|log|mail|private-files)\b/

const MAX_FILE_LINES = 300
const MAX_FUNCTION_LINES = 60
const MAX_IMPORTS = 20
const MAX_COLUMNS = 120
/** Enough for one file for each command. */
const MAX_FOLDER_FILES = 24

const sources = readSources()

/** `file -> import` for each import that matches. */
function importsThat(matches: (to: string, source: Source, isType: boolean) => boolean): string[] {
  return sources.flatMap((source) =>
    source.imports.filter(({ to, isType }) => matches(to, source, isType)).map(({ to }) => `${source.file} -> ${to}`),
  )
}

/** `file:line` of the first matching node of each file. */
function findPlaces(matches: (node: ts.Node, source: Source) => boolean): string[] {
  return sources.flatMap((source) => {
    const lines: number[] = []
    visit(source.tree, (node) => {
      if (matches(node, source)) lines.push(lineOf(node))
    })
    return lines.slice(0, 1).map((line) => `${source.file}:${line}`)
  })
}

const isAllowed = (kind: string) => (place: string) =>
  (ALLOWED[kind] ?? []).some(({ file }) => place.startsWith(`${file}:`)) || place.startsWith('src/kernel/')

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
  it('are ruled for every part of src', () => {
    const parts = new Set(sources.map(({ part }) => part))
    expect([...parts].filter((part) => !(part in MAY_IMPORT))).toEqual([])
  })

  it('point down, from part to part', () => {
    const wrong = importsThat(
      (to, { part }) => to.startsWith('src/') && partOf(to) !== part && !(MAY_IMPORT[part] ?? []).includes(partOf(to)),
    )
    expect(wrong).toEqual([])
  })

  it('have no cycles between files', () => {
    expect(findCycles(sources).map((files) => files.join(' <-> '))).toEqual([])
  })

  it('stay inside src and generated', () => {
    expect(importsThat((to) => /^(\.\.|test|prisma|spec)\b/.test(to))).toEqual([])
  })

  it('of one flow include no routes of another flow', () => {
    const flowOf = (file: string) => /^src\/(?:control|gateway)\/([^/]+)\//.exec(file)?.[1]
    const wrong = importsThat(
      (to, { file }) => flowOf(file) !== undefined && to.endsWith('/routes.ts') && flowOf(to) !== flowOf(file),
    )
    expect(wrong).toEqual([])
  })

  it('of pure files include no input or output, not even its types', () => {
    expect(importsThat((to, { file }) => isPure(file) && INPUT_OUTPUT.test(to))).toEqual([])
  })

  it.each<[string, (file: string) => boolean, (to: string) => boolean]>([
    ['express', (file) => file.startsWith('src/http/'), (to) => to === 'express'],
    [
      'express-openapi-validator',
      (file) => file.startsWith('src/http/validation/'),
      (to) => to.startsWith('express-openapi-validator'),
    ],
    [
      'Prisma',
      (file) => file.endsWith('/store.ts') || /^src\/database\//.test(file),
      (to) => /^(generated\/prisma\/|@prisma\/|pglite-prisma-adapter$)/.test(to),
    ],
    // An import of it takes 40 ms of a start, see src/http/node-http.ts.
    ['node:http', (file) => file.startsWith('src/cli/'), (to) => to === 'node:http'],
    ['database drivers', (file) => file.startsWith('src/database/'), (to) => /^(pg|@electric-sql\/pglite)$/.test(to)],
  ])('of %s at run time are in its folder only', (_, belongs, is) => {
    expect(importsThat((to, { file }, isType) => !isType && is(to) && !belongs(file))).toEqual([])
  })

  it('name files with their extension', () => {
    expect(importsThat((to) => to.startsWith('src/') && !/\.(ts|json|js)$/.test(to))).toEqual([])
  })

  it(`are of at most ${MAX_IMPORTS} modules in a file`, () => {
    const counted = sources.map(({ file, imports }) => ({ file, modules: new Set(imports.map(({ to }) => to)).size }))
    expect(counted.filter(({ modules }) => modules > MAX_IMPORTS)).toEqual([])
  })
})

describe('the gateway', () => {
  const BACKENDS_AND_DIALECTS: readonly string[] = [...DIALECT_NAMES, ...UPSTREAM_NAMES, WORKER_NAME]

  it('compares names of dialects and backends only in their own folders: elsewhere they are rows of tables', () => {
    const isName = (node: ts.Node) => ts.isStringLiteral(node) && BACKENDS_AND_DIALECTS.includes(node.text)
    const isComparison = (node: ts.Node) =>
      ts.isCaseClause(node)
        ? isName(node.expression)
        : ts.isBinaryExpression(node) &&
          /^[!=]==?$/.test(node.operatorToken.getText()) &&
          [node.left, node.right].some(isName)
    const found = findPlaces(isComparison).filter((place) => place.startsWith('src/gateway/'))
    expect(found.filter((place) => !/^src\/gateway\/(dialects|backends)\//.test(place))).toEqual([])
  })

  it('decides in folders that touch nothing outside of the process, not even by types', () => {
    const byFile = new Map(sources.map((source) => [source.file, source]))
    const reached = new Set(
      sources.map(({ file }) => file).filter((file) => /^src\/gateway\/(dialects|plan)\//.test(file)),
    )
    for (const file of reached) for (const { to } of byFile.get(file)?.imports ?? []) reached.add(to)
    // These modules of Node.js only compute.
    const touches = /^node:(?!util$|crypto$|url$)|^(undici|express|pg)$|\/store\.ts$/
    expect([...reached].filter((to) => touches.test(to))).toEqual([])
  })
})

describe('what tests replace', () => {
  it('the environment is read in one place', () => {
    const found = findPlaces((node) => isCall(node, 'process', 'env'))
    expect(found.filter((place) => !isAllowed('process.env')(place))).toEqual([])
  })

  it('the clock is read in the kernel', () => {
    const found = findPlaces((node) => isCall(node, 'Date', 'now') || isNewDate(node))
    expect(found.filter((place) => !isAllowed('clock')(place))).toEqual([])
  })

  it('random values come from the kernel', () => {
    const used = findPlaces(
      (node) => isCall(node, 'Math', 'random') || RANDOM.some((name) => isCall(node, 'crypto', name)),
    )
    const imported = sources
      .filter(({ imports }) =>
        imports.some(
          ({ to, names }) => /^(node:)?crypto$/.test(to) && names.some((name) => name === '*' || RANDOM.includes(name)),
        ),
      )
      .map(({ file }) => `${file}:1`)
    expect([...used, ...imported].filter((place) => !isAllowed('random')(place))).toEqual([])
  })

  it('every exception is still needed', () => {
    const used: Readonly<Record<string, (source: Source) => boolean>> = {
      'process.env': ({ tree }) => tree.text.includes('process.env'),
      clock: ({ tree }) => /Date\.now\(|new Date\(\)/.test(tree.text),
      random: ({ tree }) => RANDOM.some((name) => tree.text.includes(name)),
    }
    const unused = Object.entries(ALLOWED).flatMap(([kind, exceptions]) =>
      exceptions
        .filter(({ file }) => !sources.some((source) => source.file === file && used[kind]?.(source)))
        .map(({ file }) => `${kind}: ${file}`),
    )
    expect(unused).toEqual([])
  })
})

describe('sizes', () => {
  it(`a file has at most ${MAX_FILE_LINES} lines`, () => {
    const lines = sources.map(({ file, tree }) => ({ file, count: tree.getLineStarts().length - 1 }))
    expect(lines.filter(({ count }) => count > MAX_FILE_LINES)).toEqual([])
  })

  it(`a folder has at most ${MAX_FOLDER_FILES} files`, () => {
    const folders = Map.groupBy(sources, ({ file }) => path.dirname(file))
    const large = [...folders].filter(([, files]) => files.length > MAX_FOLDER_FILES)
    expect(large.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([])
  })

  it(`a line has at most ${MAX_COLUMNS} columns`, () => {
    const long = sources.flatMap(({ file, tree }) =>
      tree.text.split('\n').flatMap((line, at) => (line.length > MAX_COLUMNS ? [`${file}:${at + 1}`] : [])),
    )
    expect(long).toEqual([])
  })

  it(`a function has at most ${MAX_FUNCTION_LINES} lines of its own, without the functions inside it`, () => {
    const long: string[] = []
    // A role's `app.ts` lists its flows in one function.
    for (const { file, tree } of sources.filter(({ file }) => !/^src\/(control|gateway)\/app\.ts$/.test(file))) {
      visit(tree, (node) => {
        if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return
        const own = ownLines(node)
        if (own > MAX_FUNCTION_LINES) long.push(`${file}:${lineOf(node)}: ${own} lines`)
      })
    }
    expect(long).toEqual([])
  })
})

/** The lines of a function without those of the functions directly inside it, each of which leaves one line. */
function ownLines(node: ts.Node): number {
  let inside = 0
  const subtract = (child: ts.Node): void => {
    if (ts.isFunctionLike(child)) inside += linesOf(child) - 1
    else ts.forEachChild(child, subtract)
  }
  ts.forEachChild(node, subtract)
  return linesOf(node) - inside
}

function linesOf(node: ts.Node): number {
  const file = node.getSourceFile()
  return (
    file.getLineAndCharacterOfPosition(node.end).line - file.getLineAndCharacterOfPosition(node.getStart()).line + 1
  )
}

describe('names', () => {
  it('of files say what is in them: no utils, common, helpers, managers, services, bases', () => {
    const names = sources.flatMap(({ file }) => file.split('/').slice(1))
    const vague = /^(utils?|common|helpers?|managers?|services?|base|misc|shared)(\.ts)?$/
    expect(names.filter((name) => vague.test(name))).toEqual([])
  })

  it('of files are kebab-case', () => {
    const names = sources.flatMap(({ file }) => file.split('/').slice(1))
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.ts)?$/.test(name))).toEqual([])
  })

  it('are exported by name: no default exports', () => {
    expect(findPlaces((node) => ts.isExportAssignment(node))).toEqual([])
  })
})
