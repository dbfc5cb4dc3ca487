import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { ROOT } from './documents.ts'

export type Import = { readonly to: string; readonly names: readonly string[]; readonly isType: boolean }

/** A file of `src`, parsed. */
export type Source = {
  /** The path from the repository's root: `src/http/app.ts`. */
  readonly file: string
  /** The folder or file of `src` that it belongs to: `http` for `src/http/app.ts`, `config` for `src/config.ts`. */
  readonly part: string
  readonly imports: readonly Import[]
  readonly tree: ts.SourceFile
}

/** Reads every TypeScript file of `src`. */
export function readSources(): Source[] {
  return globSync('src/**/*.ts', { cwd: ROOT, exclude: ['**/*.d.ts'] }).map((file) => {
    const text = readFileSync(path.join(ROOT, file), 'utf8')
    const tree = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    return { file, part: partOf(file), imports: importsOf(tree), tree }
  })
}

/** The part of `src` that a path belongs to; for another path, its first folder. */
export function partOf(file: string): string {
  const [top = '', second = ''] = file.split('/')
  return top === 'src' ? second.replace(/\.ts$/, '') : top
}

/** What a file imports or re-exports: our files by their path from the root, packages by name. */
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

/** Calls `see` for a node and everything inside it. */
export function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  ts.forEachChild(node, (child) => visit(child, see))
}

/** The number of the line on which a node starts. */
export function lineOf(node: ts.Node): number {
  return node.getSourceFile().getLineAndCharacterOfPosition(node.getStart()).line + 1
}

/**
 * The groups of files that import each other, directly or through others (strongly connected components, Tarjan's
 * algorithm), types included.
 */
export function findCycles(sources: readonly Source[]): string[][] {
  const importsByFile = new Map(sources.map(({ file, imports }) => [file, imports.map(({ to }) => to)]))
  const indexes = new Map<string, number>()
  const stack: string[] = []
  const cycles: string[][] = []

  function connect(file: string): number {
    const index = indexes.size
    indexes.set(file, index)
    stack.push(file)
    let low = index
    for (const to of importsByFile.get(file) ?? []) {
      if (!importsByFile.has(to)) continue
      if (!indexes.has(to)) low = Math.min(low, connect(to))
      else if (stack.includes(to)) low = Math.min(low, indexes.get(to) ?? low)
    }
    if (low === index) {
      const group = stack.splice(stack.indexOf(file))
      if (group.length > 1) cycles.push(group)
    }
    return low
  }

  for (const { file } of sources) if (!indexes.has(file)) connect(file)
  return cycles
}
