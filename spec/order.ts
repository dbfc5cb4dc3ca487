/**
 * The order of the operations in the published document: the order of the files that spec/main.tsp imports, and in each
 * file the order in which the operations are declared there. That is the order of use (start, poll, refresh). The
 * TypeSpec emitter sorts paths by name instead.
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'

export type Operation = { readonly operationId: string; readonly security?: readonly object[] }
type PathItem = Readonly<Record<string, Operation>>
export type Paths = Readonly<Record<string, PathItem>>

/** Returns the document with its paths, and the methods of each path, in the order of use. */
export function orderPaths<Document extends { readonly paths: Paths }>(document: Document): Document {
  const ids = declaredOperations()
  const place = ({ operationId }: { readonly operationId: string }) => {
    const index = ids.indexOf(operationId)
    if (index < 0) throw new Error(`The operation ${operationId} is declared in no file that spec/main.tsp imports.`)
    return index
  }
  const first = (item: PathItem) => Math.min(...Object.values(item).map(place))
  const paths = Object.entries(document.paths)
    .map(([route, item]) => [route, sorted(item, place)] as const)
    .toSorted(([, a], [, b]) => first(a) - first(b))
  return { ...document, paths: Object.fromEntries(paths) }
}

function sorted<Value>(record: Readonly<Record<string, Value>>, place: (value: Value) => number) {
  return Object.fromEntries(Object.entries(record).toSorted(([, a], [, b]) => place(a) - place(b)))
}

/**
 * The ids of all operations. An operation that shares a route has its id in `@operationId`, and is then found by either
 * name.
 */
function declaredOperations(): readonly string[] {
  const main = path.join(import.meta.dirname, 'main.tsp')
  return matches(readFileSync(main, 'utf8'), /^import "(\.\/[^"]+)";/gm).flatMap((file) =>
    matches(readFileSync(path.join(import.meta.dirname, file), 'utf8'), /^op (\w+)/gm),
  )
}

function matches(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, found = '']) => found)
}
