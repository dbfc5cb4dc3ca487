import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { readContract, routesOf } from '../../../src/http/contract.ts'
import type { Route } from '../../../src/http/contract.ts'

const contract = readContract()
// An undeclared field is a leak. The schemas of vendors allow additional properties themselves.
const closed = JSON.parse(JSON.stringify(contract), (_key, value: unknown) => closedSchema(value)) as object
const routes = routesOf(contract).map((route) => ({ ...route, pattern: patternOf(route.path) }))
/** JSON values as they are, and texts of headers, parameters and forms, which stand for numbers and booleans too. */
const checkers = { json: openAjv({}), text: openAjv({ coerceTypes: 'array' }) }
const validators = new Map<string, ValidateFunction>()

/** The operation of the contract that a request matches; undefined when there is none. */
export function findRoute(method: string, pathname: string): Route | undefined {
  const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
  return routes.find((route) => route.method === wanted && route.pattern.test(pathname))
}

/** The values of an operation's path parameters, decoded, by name. */
export function readPathParameters({ path }: Route, pathname: string): Record<string, string> {
  const values = patternOf(path).exec(pathname)?.groups ?? {}
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decodeURIComponent(value)]))
}

/**
 * What is wrong with a value, in words; empty when it matches. `place` leads to its schema in the document. Values of
 * the kind `text` are strings, or objects with strings.
 */
export function findMistakes(place: readonly string[], value: unknown, kind: keyof typeof checkers = 'json'): string[] {
  // Most operations share their schemas, and to compile one takes milliseconds.
  const key = `${kind} ${JSON.stringify(partAt(place))}`
  const validate = validators.get(key) ?? checkers[kind].compile({ $ref: `contract#/${toPointer(place)}` })
  validators.set(key, validate)
  if (validate(value)) return []
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
}

/** A part of the document, and where it is once its references are followed. */
export function findPart(place: readonly string[]): { readonly part: unknown; readonly place: readonly string[] } {
  const part = partAt(place)
  const reference = (part as { readonly $ref?: string } | undefined)?.$ref
  return reference === undefined ? { part, place } : findPart(reference.split('/').slice(1))
}

function partAt(place: readonly string[]): unknown {
  let part: unknown = contract
  for (const name of place) part = (part as Readonly<Record<string, unknown>> | undefined)?.[name]
  return part
}

/** A JSON pointer as part of a URI (RFC 6901, section 6). */
function toPointer(place: readonly string[]): string {
  return place.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')
}

function openAjv(options: { readonly coerceTypes?: 'array' }): Ajv2020 {
  const checker = new Ajv2020({ strict: false, allErrors: true, validateSchema: false, ...options })
  addFormats.default(checker)
  checker.addFormat('uri', true)
  checker.addSchema({ $id: 'contract', ...closed })
  return checker
}

function closedSchema(value: unknown): unknown {
  const isModel =
    typeof value === 'object' && value !== null && 'type' in value && value.type === 'object' && 'properties' in value
  return isModel && !('additionalProperties' in value) ? { ...value, additionalProperties: false } : value
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}/?$`)
}
