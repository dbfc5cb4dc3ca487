import { appendFileSync, mkdirSync } from 'node:fs'
import path from 'node:path'
import type { Route } from '../../../src/http/contract.ts'
import { findMistakes, findPart, findRoute } from './contract-schemas.ts'

/** Where tests note the statuses that they have received; `seen.ts` reads it after all tests. */
export const SEEN_DIRECTORY = path.join(import.meta.dirname, '../../../node_modules/.cache/svc-seen')

/** A documented answer, as far as it is checked. */
type Documented = {
  readonly content?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>
}

/**
 * Throws when an answer does not match its operation in the contract: an undocumented status or content type, a missing
 * or wrong header, a body that does not match its schema, or an undeclared field. Notes the status as received. The
 * events of streams are checked by `checkEvent`.
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

  const type = typeOf(response)
  const { content } = documented
  // Statuses under `default` are those of backends, whose headers pass.
  const status = response.status in route.operation.responses ? String(response.status) : 'default'
  if (status !== 'default') checkHeaders(route, response, documented)
  if (!content && type === '') return
  if (method === 'HEAD' || response.status === 304) return
  if (!content || !(type in content))
    throw new Error(`${name} has the content type "${type}", which is not in the contract.`)
  if (type !== 'application/json') return
  const body: unknown = await response.clone().json()
  const mistakes = findMistakes([...placeOf(route, status), 'content', type, 'schema'], body)
  if (mistakes.length > 0)
    throw new Error(`${name} does not match the contract: ${mistakes.join('; ')}\n${JSON.stringify(body)}`)
}

/** What clients act on. */
const DECISIVE_HEADERS = ['retry-after', 'x-should-retry', 'www-authenticate', 'location']

function checkHeaders(route: Route, response: Response, { headers = {} }: Documented): void {
  const wrong = Object.entries(headers).flatMap(([header, { required }]) => {
    const value = response.headers.get(header)
    if (value === null) return required ? [`${header} is missing`] : []
    const schema = [...placeOf(route, response.status), 'headers', header, 'schema']
    return findMistakes(schema, value, 'text').map((mistake) => `${header}: ${value}${mistake}`)
  })
  const declared = new Set(Object.keys(headers).map((header) => header.toLowerCase()))
  const undeclared = DECISIVE_HEADERS.filter((header) => response.headers.has(header) && !declared.has(header))
  wrong.push(...undeclared.map((header) => `${header} is not declared`))
  if (wrong.length > 0)
    throw new Error(`The headers of ${route.id} ${response.status} do not match the contract: ${wrong.join('; ')}.`)
}

/**
 * Throws when the data of an event of a stream does not match the contract. Answers that are no stream of JSON have no
 * events.
 */
export function checkEvent(method: string, url: URL, response: Response, data: unknown): void {
  const route = findRoute(method, url.pathname)
  if (!route) return
  const stream = findPart([...placeOf(route, response.status), 'content', typeOf(response), 'schema'])
  if (!Object.hasOwn(stream.part ?? {}, 'x-event-schema')) return
  const mistakes = findMistakes([...stream.place, 'x-event-schema'], data)
  if (mistakes.length > 0)
    throw new Error(
      `An event of ${route.id} does not match the contract: ${mistakes.join('; ')}\n${JSON.stringify(data)}`,
    )
}

function typeOf(response: Response): string {
  return response.headers.get('content-type')?.split(';')[0] ?? ''
}

function placeOf(route: Route, status: number | string): string[] {
  return ['paths', route.path, route.method, 'responses', String(status)]
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
