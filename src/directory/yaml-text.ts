/** Reads what people write as YAML. Each mistake has its line and field: `line 12, organizations[0].name: ...`. */
import { LineCounter, isMap, isScalar, parseDocument, visit } from 'yaml'
import type { Document, YAMLParseError, YAMLWarning } from 'yaml'
import type { z } from 'zod'
import { formatPath, toMistakes } from './mistakes.ts'
import type { Mistake, Path } from './mistakes.ts'

/**
 * `judge` finds what the schema cannot see, in a text with or without mistakes. `refuse` says why a text is of another
 * kind (null: it is not), and then its fields are not judged.
 */
export function readYamlText<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
  judge: (content: unknown) => readonly Mistake[],
  refuse: (content: unknown) => string | null = () => null,
): { value: z.output<Schema> } | { mistakes: string[] } {
  if (isTooDeep(text)) return { mistakes: [`line 1: it is nested deeper than ${MAX_DEPTH} levels`] }
  const lines = new LineCounter()
  // With its default log level, the library also prints what it finds in the texts of admins.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const broken = [...document.errors, ...document.warnings]
  if (broken.length > 0) {
    return { mistakes: broken.map((error) => `line ${lines.linePos(error.pos[0]).line}: ${messageOf(error)}`) }
  }
  const content = toPlain(document, lines)
  if ('mistake' in content) return { mistakes: [content.mistake] }
  const refusal = refuse(content.value)
  if (refusal !== null) return { mistakes: [refusal] }

  const parsed = schema.safeParse(content.value)
  const mistakes = [...(parsed.error?.issues.flatMap(toMistakes) ?? []), ...judge(content.value)]
  if (parsed.success && mistakes.length === 0) return { value: parsed.data }
  return {
    mistakes: mistakes
      .map(locate(document, lines))
      .sort((a, b) => a.line - b.line)
      .map((mistake) => mistake.message),
  }
}

/** The message of the YAML library. That for several documents is advice for programmers. */
function messageOf({ code, message }: YAMLParseError | YAMLWarning): string {
  return code === 'MULTIPLE_DOCS' ? 'must be one document, so remove this line "---" and what follows' : message
}

const MAX_DEPTH = 100

/** Whether brackets or list markers are nested so deep that the YAML library needs a second for a small text. */
function isTooDeep(text: string): boolean {
  let depth = 0
  for (const bracket of text.matchAll(/[[\]{}]/g)) {
    depth = bracket[0] === '[' || bracket[0] === '{' ? depth + 1 : Math.max(0, depth - 1)
    if (depth > MAX_DEPTH) return true
  }
  return LIST_MARKERS.test(text)
}

const LIST_MARKERS = new RegExp(`(?:[-?][ \\t]){${MAX_DEPTH}}`)

/** Converts the document to plain values. The YAML library refuses aliases that expand to too many nodes. */
function toPlain(document: Document, lines: LineCounter): { value: unknown } | { mistake: string } {
  try {
    const value: unknown = document.toJS()
    return value === null ? { mistake: 'line 1: the file is empty' } : { value }
  } catch (error) {
    const { line } = lines.linePos(offsetOfUnknownAlias(document))
    return { mistake: `line ${line}: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** The position of the first alias whose anchor is not above it; 0 where there is none. */
function offsetOfUnknownAlias(document: Document): number {
  const anchors = new Set<string>()
  let offset = 0
  visit(document, {
    Value(_, { anchor }) {
      if (anchor) anchors.add(anchor)
    },
    Alias(_, { source, range }) {
      if (anchors.has(source)) return undefined
      offset = range?.[0] ?? 0
      return visit.BREAK
    },
  })
  return offset
}

function locate(document: Document, lines: LineCounter) {
  return ({ path, message }: Mistake): { line: number; message: string } => {
    const { line } = lines.linePos(offsetOf(document, path))
    const field = formatPath(path)
    return { line, message: `line ${line}${field && `, ${field}`}: ${message}` }
  }
}

/** The position of a field's name. For a missing field, the position of the mapping that should contain it. */
function offsetOf(document: Document, path: Path): number {
  if (path.length === 0) return document.contents?.range?.[0] ?? 0
  const holder = document.getIn(path.slice(0, -1), true)
  const key = isMap(holder)
    ? holder.items.find((pair) => isScalar(pair.key) && pair.key.value === path.at(-1))?.key
    : undefined
  const node = key ?? document.getIn(path, true)
  return startOf(node) ?? offsetOf(document, path.slice(0, -1))
}

function startOf(node: unknown): number | undefined {
  const hasRange = typeof node === 'object' && node !== null && 'range' in node && Array.isArray(node.range)
  return hasRange ? Number((node.range as unknown[])[0]) : undefined
}
