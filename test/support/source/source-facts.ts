import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import ts from 'typescript'
import { ROOT } from './documents.ts'
import { lineOf, visit } from './source-tree.ts'

/** A log event as a call in the source names it. */
export type SourceEvent = {
  /** `src/server/serve.ts:100`. */
  readonly where: string
  readonly level: string
  /** Matches the whole name; a name that is put together at run time matches several. */
  readonly name: RegExp
}

export type SourceMetric = {
  readonly name: string
  readonly kind: string
  readonly labels: readonly string[]
}

const LEVELS: Readonly<Record<string, string>> = {
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  showLink: 'info',
}

/** Every log event that `src` writes. Throws where an event's name cannot be read from the source. */
export function findLogEvents(): SourceEvent[] {
  return treesWith(/\blog\b/).flatMap((tree) => {
    const events: SourceEvent[] = []
    visit(tree, (node) => {
      if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return
      const level = LEVELS[node.expression.name.text]
      const event = node.arguments[1]
      if (!level || !event || !/(^|\.)log$/.test(node.expression.expression.getText())) return
      const where = `${tree.fileName}:${lineOf(node)}`
      events.push(...patternsOf(event, where).map((name) => ({ where, level, name })))
    })
    return events
  })
}

/** Every metric of the service that `src` registers: an object with a `name` that begins with `svc_` and a `help`. */
export function findMetrics(): SourceMetric[] {
  return treesWith(/svc_/).flatMap((tree) => {
    const metrics: SourceMetric[] = []
    visit(tree, (node) => {
      if (!ts.isObjectLiteralExpression(node)) return
      const name = textOf(valueOf(node, 'name'))
      if (!name?.startsWith('svc_') || !valueOf(node, 'help')) return
      const labels = valueOf(node, 'labelNames')
      const elements = labels && ts.isArrayLiteralExpression(labels) ? labels.elements : []
      metrics.push({ name, kind: kindOf(node), labels: elements.map((element) => textOf(element) ?? '') })
    })
    return metrics
  })
}

/** The defaults of the settings, as `src/config/settings.ts` writes them: `.default(8787)` behind the setting's name. */
export function findSettingDefaults(): Map<string, string> {
  const defaults = new Map<string, string>()
  for (const tree of treesWith(/SVC_/, 'src/config/*.ts')) {
    visit(tree, (node) => {
      if (!ts.isPropertyAssignment(node) || !/^SVC_\w+$/.test(node.name.getText())) return
      const call = node.initializer
      if (!ts.isCallExpression(call) || !ts.isPropertyAccessExpression(call.expression)) return
      const [value] = call.arguments
      if (call.expression.name.text === 'default' && value) defaults.set(node.name.getText(), toSetting(value))
    })
  }
  return defaults
}

/** The files of `src` that contain a text. The others are not parsed, which takes a second for all of `src`. */
function treesWith(text: RegExp, pattern = 'src/**/*.ts'): ts.SourceFile[] {
  return globSync(pattern, { cwd: ROOT })
    .filter((file) => file !== 'src/log.ts')
    .map((file) => ({ file, code: readFileSync(path.join(ROOT, file), 'utf8') }))
    .filter(({ code }) => text.test(code))
    .map(({ file, code }) => ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true))
}

function patternsOf(event: ts.Expression, where: string): RegExp[] {
  if (ts.isConditionalExpression(event)) {
    return [...patternsOf(event.whenTrue, where), ...patternsOf(event.whenFalse, where)]
  }
  const text = textOf(event)
  if (text !== null) return [new RegExp(`^${escape(text)}$`)]
  if (!ts.isTemplateExpression(event)) throw new Error(`${where}: The name of the log event is not in the source.`)
  const parts = [event.head.text, ...event.templateSpans.map(({ literal }) => literal.text)]
  return [new RegExp(`^${parts.map(escape).join('[a-z_]+')}$`)]
}

function escape(text: string): string {
  return text.replaceAll('.', '\\.')
}

function valueOf(node: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const property = node.properties.find((candidate) => candidate.name?.getText() === name)
  return property && ts.isPropertyAssignment(property) ? property.initializer : undefined
}

function textOf(node: ts.Node | undefined): string | null {
  return node && ts.isStringLiteralLike(node) ? node.text : null
}

/** What the object is given to: `new Gauge({...})`, `makeHistogram(registry, {...})`. */
function kindOf(node: ts.ObjectLiteralExpression): string {
  const { parent } = node
  const callee = ts.isCallExpression(parent) || ts.isNewExpression(parent) ? parent.expression.getText() : ''
  return /counter|gauge|histogram/i.exec(callee)?.[0].toLowerCase() ?? 'unknown'
}

/** A default as an operator would write it. */
function toSetting(value: ts.Expression): string {
  if (value.kind === ts.SyntaxKind.FalseKeyword) return '0'
  if (value.kind === ts.SyntaxKind.TrueKeyword) return '1'
  return textOf(value) ?? value.getText().replaceAll('_', '')
}
