import type { Route } from '../../../src/http/contract.ts'
import { findMistakes, findPart, findRoute, readPathParameters } from './contract-schemas.ts'

/** A request as it was sent. */
export type SentRequest = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly body: string
}

type Parameter = { readonly name: string; readonly in: string; readonly required?: boolean }

/**
 * Throws when the contract does not allow a request that the service has accepted: a missing or wrong parameter, an
 * undocumented content type, a body that does not match its schema, no credential where one is required.
 */
export function checkRequest(request: SentRequest): void {
  const route = findRoute(request.method, request.url.pathname)
  if (!route) return
  const mistakes = [
    ...findParameterMistakes(route, request),
    ...findBodyMistakes(route, request),
    ...findCredentialMistakes(route, request),
  ]
  if (mistakes.length > 0)
    throw new Error(
      `${route.id} accepted a request that is not in the contract: ${mistakes.join('; ')}\n${request.body}`,
    )
}

function findParameterMistakes(route: Route, { url, headers }: SentRequest): string[] {
  const inPath = readPathParameters(route, url.pathname)
  const read: Readonly<Record<string, (name: string) => string | null>> = {
    path: (name) => inPath[name] ?? null,
    query: (name) => url.searchParams.get(name),
    header: (name) => headers.get(name),
  }
  const all = ['paths', route.path, route.method, 'parameters']
  const { length = 0 } = (findPart(all).part ?? {}) as { readonly length?: number }
  return Array.from({ length }, (_, index) => findPart([...all, String(index)])).flatMap(({ part, place }) => {
    // A parameter object of OpenAPI.
    const { name, in: where, required } = part as Parameter
    const value = read[where]?.(name) ?? null
    if (value === null) return required ? [`the parameter ${name} is missing`] : []
    return findMistakes([...place, 'schema'], value, 'text').map((mistake) => `${name}: ${value}${mistake}`)
  })
}

function findBodyMistakes(route: Route, { headers, body }: SentRequest): string[] {
  const { requestBody } = route.operation
  // Operations without a body do not read one, and telemetry is discarded whatever it is.
  if (!requestBody || '*/*' in requestBody.content) return []
  if (body === '') return requestBody.required ? ['the body is missing'] : []
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (!(type in requestBody.content)) return [`the content type "${type}"`]
  if (headers.has('content-encoding')) return []
  const place = ['paths', route.path, route.method, 'requestBody', 'content', type, 'schema']
  if (type !== 'application/x-www-form-urlencoded') return findMistakes(place, JSON.parse(body))
  return findMistakes(place, readForm(body), 'text')
}

/** The fields of a form; those that are repeated are lists. */
function readForm(body: string): Record<string, string | string[]> {
  const form = new URLSearchParams(body)
  const fields = [...new Set(form.keys())].map((name) => [name, form.getAll(name)] as const)
  return Object.fromEntries(fields.map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]))
}

/** Which credential is good is the service's to judge; here it counts whether there is any. */
function findCredentialMistakes({ operation }: Route, { headers }: SentRequest): string[] {
  const hasAny = ['authorization', 'cookie', 'x-api-key'].some((name) => headers.has(name))
  return isOpen(operation) || hasAny ? [] : ['there is no credential']
}

/** Whether the contract lets callers without a credential use an operation. */
export function isOpen({ security = [] }: Route['operation']): boolean {
  return security.length === 0 || security.some((scheme) => Object.keys(scheme).length === 0)
}
