import { readFileSync } from 'node:fs'
import type { OperationId } from './operation.ts'

/** What a process serves: the control plane, the gateway, or both. */
export type PartName = 'control-plane' | 'gateway'

/** Every tag of the contract belongs to a part; a new tag stops the start until it is listed. */
const PARTS_OF_TAG: Readonly<Record<string, readonly PartName[]>> = {
  'Device login': ['control-plane'],
  Sessions: ['control-plane'],
  Devices: ['control-plane'],
  Passkeys: ['control-plane'],
  Invitations: ['control-plane'],
  OAuth: ['control-plane'],
  Pages: ['control-plane'],
  Teams: ['control-plane'],
  Keys: ['control-plane'],
  Models: ['gateway'],
  Calls: ['gateway'],
  Workers: ['gateway'],
  Health: ['control-plane', 'gateway'],
  Contract: ['control-plane', 'gateway'],
}

/** What this service reads of an operation object (OpenAPI 3.1, section 4.8.10). */
export type OperationObject = {
  readonly operationId: OperationId
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, unknown>>
}

/** An OpenAPI document, as far as this service reads it. */
export type Contract = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> }
}

/** One operation and where it is. */
export type Route = {
  readonly id: OperationId
  readonly method: string
  /** As in the contract: `/v1/workers/{id}`. */
  readonly path: string
  readonly operation: OperationObject
}

/** Reads the published document. */
export function readContract(): Contract {
  const text = readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8')
  // The document is this project's own output, checked against the spec by a test.
  return JSON.parse(text) as Contract
}

/** The document of one part: validation looks routes up one by one, so each part carries only its own. */
export function contractOf(contract: Contract, part: PartName): Contract {
  const paths = Object.entries(contract.paths).map(([path, item]) => {
    const own = Object.entries(item).filter(([, operation]) => partsOf(operation).includes(part))
    return [path, Object.fromEntries(own)] as const
  })
  return { ...contract, paths: Object.fromEntries(paths.filter(([, item]) => Object.keys(item).length > 0)) }
}

/**
 * The document as far as it is about requests: no answers, and only the schemas that requests refer to. Whoever checks requests by it
 * compiles a quarter of the whole.
 */
export function requestsOf(contract: Contract): Contract {
  const paths = mapValues(contract.paths, (item) => mapValues(item, (operation) => ({ ...operation, responses: {} })))
  const { schemas } = contract.components
  const referred = new Set<string>()
  for (const found = schemasIn(paths); found.length > 0;) {
    const name = found.pop() ?? ''
    if (referred.has(name)) continue
    referred.add(name)
    found.push(...schemasIn(schemas[name]))
  }
  const kept = Object.entries(schemas).filter(([name]) => referred.has(name))
  return { ...contract, paths, components: { ...contract.components, schemas: Object.fromEntries(kept) } }
}

/** Every operation of a document. */
export function routesOf(contract: Contract): Route[] {
  return Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ id: operation.operationId, method, path, operation })),
  )
}

/** The operations whose 401 says where to sign in. */
export function signInFirstIn(contract: Contract): OperationId[] {
  const { schemas } = contract.components
  const saysSo = ({ operation: { responses } }: Route) =>
    JSON.stringify(schemasIn(responses['401']).map((name) => schemas[name])).includes('"authenticate_first"')
  return routesOf(contract)
    .filter(saysSo)
    .map(({ id }) => id)
}

function partsOf(operation: OperationObject): readonly PartName[] {
  return operation.tags.flatMap((tag) => {
    const parts = PARTS_OF_TAG[tag]
    if (!parts)
      throw new Error(`The tag "${tag}" of ${operation.operationId} belongs to no part; list it in PARTS_OF_TAG.`)
    return parts
  })
}

/** The names of the schemas that a part of the document refers to. */
function schemasIn(part: unknown): string[] {
  const references = JSON.stringify([part]).matchAll(/"#\/components\/schemas\/([^"]+)"/g)
  return Array.from(references, ([, name = '']) => name)
}

function mapValues<From, To>(of: Readonly<Record<string, From>>, to: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(of).map(([key, value]) => [key, to(value)]))
}
