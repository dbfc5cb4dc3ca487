import { appendFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { readContract, routesOf } from '../../src/http/contract.ts'
import type { Route } from '../../src/http/contract.ts'

/** Where tests note the statuses that they have received; `seen.ts` reads it after all tests. */
export const SEEN_DIRECTORY = path.join(import.meta.dirname, '../../node_modules/.cache/svc-seen')

const contract = readContract()
const routes = routesOf(contract).map((route) => ({ ...route, pattern: patternOf(route.path) }))
const ajv = openAjv()
const validators = new Map<string, ValidateFunction>()

/** The operation of the contract that a request matches; undefined when there is none. */
function findRoute(method: string, pathname: string): Route | undefined {
  const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
  return routes.find((route) => route.method === wanted && route.pattern.test(pathname))
}

/** A documented answer, as far as it is checked. */
type Documented = {
  readonly content?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, { readonly required?: boolean; readonly schema: HeaderSchema }>>
}

type HeaderSchema = { readonly type?: string; readonly enum?: readonly unknown[] }

/**
 * Throws when an answer does not match its operation in the contract: an undocumented status or content type, a missing
 * or wrong header, a body that does not match its schema, or an undeclared field. Notes the status as received.
 */
export async function checkAnswer(method: string, url: URL, response: Response): Promise<void> {
  const route = findRoute(method, url.pathname)
  if (!route) return
  const name = `${route.id} ${response.status}`
  // An answer object of OpenAPI, of which the service itself reads nothing.
  const documented = (route.operation.responses[response.status] ?? route.operation.responses['default']) as
    Documented | undefined
  if (!documented) throw new Error(`${name} is not in the contract.`)
  if (!response.headers.get('x-request-id')) throw new Error(`${name} has no x-request-id.`)
  note(route, response.status)

  const type = response.headers.get('content-type')?.split(';')[0] ?? ''
  const { content, headers = {} } = documented
  // Statuses under `default` are those of upstreams, whose bodies are forwarded unchanged.
  const isFromUpstream = !(response.status in route.operation.responses)
  if (isFromUpstream) return
  const wrong = Object.entries(headers).filter(([header, { required, schema }]) => {
    const value = response.headers.get(header)
    return value === null ? required : !isHeaderValue(schema, value)
  })
  if (wrong.length > 0)
    throw new Error(`${name} lacks headers of the contract: ${wrong.map(([header]) => header).join()}.`)
  if (!content && type === '') return
  if (method === 'HEAD' || response.status === 304) return
  if (!content || !(type in content))
    throw new Error(`${name} has the content type "${type}", which is not in the contract.`)
  if (type === 'application/json') checkBody(route, response.status, await response.clone().json())
}

function isHeaderValue({ type, enum: values }: HeaderSchema, value: string): boolean {
  if (type === 'integer') return /^\d+$/.test(value)
  return !values || values.includes(value)
}

function checkBody(route: Route, status: number, body: unknown): void {
  const key = `${route.method} ${route.path} ${status}`
  const validate = validators.get(key) ?? compile(route, status)
  validators.set(key, validate)
  if (validate(body)) return
  const problems = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  )
  throw new Error(`${route.id} ${status} does not match the contract: ${problems.join('; ')}\n${JSON.stringify(body)}`)
}

function compile(route: Route, status: number): ValidateFunction {
  const pointer = [
    'paths',
    route.path,
    route.method,
    'responses',
    String(status),
    'content',
    'application/json',
    'schema',
  ]
  const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')))
  return ajv.compile({ $ref: `contract#/${escaped.join('/')}` })
}

function openAjv(): Ajv2020 {
  const checker = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
  addFormats.default(checker)
  checker.addFormat('uri', true)
  // An undeclared field is a leak. The schemas of vendors allow additional properties themselves.
  const closed = JSON.parse(JSON.stringify(contract), (_key, value: unknown) => closedSchema(value)) as object
  checker.addSchema({ $id: 'contract', ...closed })
  return checker
}

function closedSchema(value: unknown): unknown {
  const isModel =
    typeof value === 'object' && value !== null && 'type' in value && value.type === 'object' && 'properties' in value
  return isModel && !('additionalProperties' in value) ? { ...value, additionalProperties: false } : value
}

function patternOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}/?$`)
}

const noted = new Set<string>()

/** Notes each status once per process. */
function note(route: Route, status: number): void {
  const line = `${route.id} ${status in route.operation.responses ? status : 'default'}\n`
  if (noted.has(line)) return
  noted.add(line)
  mkdirSync(SEEN_DIRECTORY, { recursive: true })
  appendFileSync(path.join(SEEN_DIRECTORY, `${process.pid}.txt`), line)
}
