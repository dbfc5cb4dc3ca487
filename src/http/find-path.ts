import type { Contract, OperationObject } from './contract.ts'

/** A path of the contract that belongs to a request. */
export type FoundPath = {
  /** In the contract's notation: `/v1/workers/{id}`. */
  readonly path: string
  /** The operations of the path by method, in lower case. */
  readonly operations: Readonly<Record<string, OperationObject>>
  /** The decoded values of the path's parameters; empty where it has none. */
  readonly parameters: Readonly<Record<string, string>>
}

/** Finds the path of the contract that a request's path belongs to; null when there is none. */
export type FindPath = (path: string) => FoundPath | null

/**
 * Makes the look-up of the paths of a document. A slash at the end does not matter, upper and lower case do. A path
 * without parameters takes precedence over one with parameters. A path that cannot be decoded has no match.
 */
export function makeFindPath({ paths }: Pick<Contract, 'paths'>): FindPath {
  const exact = new Map<string, FoundPath>()
  const patterns: Pattern[] = []
  // "~" sorts behind all other characters, so that literal segments come before parameters.
  for (const [path, operations] of Object.entries(paths).sort(([a], [b]) => (toSortKey(a) < toSortKey(b) ? -1 : 1))) {
    if (path.includes('{')) patterns.push(toPattern(path, operations))
    else exact.set(path, { path, operations, parameters: {} })
  }
  return (given) => {
    const path = given.length > 1 && given.endsWith('/') ? given.slice(0, -1) : given
    return exact.get(path) ?? findPattern(patterns, path)
  }
}

type Pattern = Omit<FoundPath, 'parameters'> & { readonly expression: RegExp; readonly names: readonly string[] }

function toSortKey(path: string): string {
  return path.replaceAll('{', '~')
}

function toPattern(path: string, operations: FoundPath['operations']): Pattern {
  const names = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name = '']) => name)
  const expression = new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '([^/]+)')}$`)
  return { path, operations, expression, names }
}

function findPattern(patterns: readonly Pattern[], given: string): FoundPath | null {
  for (const { path, operations, expression, names } of patterns) {
    const values = expression.exec(given)?.slice(1)
    const parameters = values && toParameters(names, values)
    if (parameters) return { path, operations, parameters }
  }
  return null
}

/** Null when a value cannot be decoded. */
function toParameters(names: readonly string[], values: readonly string[]): Record<string, string> | null {
  try {
    return Object.fromEntries(values.map((value, at): [string, string] => [names[at] ?? '', decodeURIComponent(value)]))
  } catch {
    return null
  }
}
