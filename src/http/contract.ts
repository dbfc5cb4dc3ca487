import { readFileSync } from 'node:fs'
import type { OperationId } from './operation.ts'

/** A role of the service that has operations of its own. */
export type RoleName = 'control-plane' | 'gateway'

/** The roles that serve the operations of a tag. With a tag that is not listed here, the service does not start. */
const ROLES_OF_TAG: Readonly<Record<string, readonly RoleName[]>> = {
  'Device login': ['control-plane'],
  Sessions: ['control-plane'],
  Devices: ['control-plane'],
  Passkeys: ['control-plane'],
  Invitations: ['control-plane'],
  Members: ['control-plane'],
  Audit: ['control-plane'],
  Directory: ['control-plane'],
  'Team models': ['control-plane'],
  'Team backends': ['control-plane'],
  'API keys': ['control-plane'],
  'Service accounts': ['control-plane'],
  OAuth: ['control-plane'],
  Pages: ['control-plane'],
  Console: ['control-plane'],
  Teams: ['control-plane'],
  'Agent sessions': ['control-plane'],
  Usage: ['control-plane'],
  Limits: ['control-plane'],
  'Own limits': ['gateway'],
  Keys: ['control-plane'],
  Models: ['gateway'],
  Calls: ['gateway'],
  Workers: ['gateway'],
  Clients: ['gateway'],
  Health: ['control-plane', 'gateway'],
  Contract: ['control-plane', 'gateway'],
}

/** The fields of an operation object that this service reads (OpenAPI 3.1, section 4.8.10). */
export type OperationObject = {
  readonly operationId: OperationId
  readonly tags: readonly string[]
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly unknown[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, unknown>>
}

/** The parts of an OpenAPI document that this service reads. */
export type Contract = {
  readonly openapi: string
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>
    readonly parameters?: Readonly<Record<string, unknown>>
  }
}

/** An operation with its method and path. */
export type Route = {
  readonly id: OperationId
  readonly method: string
  /** In the contract's notation: `/v1/workers/{id}`. */
  readonly path: string
  readonly operation: OperationObject
}

let published: Contract | undefined

/** Reads the published document from `generated/`, once. */
export function readContract(): Contract {
  if (!published) {
    const text = readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8')
    // A test checks this document against the specification of OpenAPI.
    published = JSON.parse(text) as Contract
  }
  return published
}

/** The document with the operations of one role only. */
export function contractOf(contract: Contract, role: RoleName): Contract {
  const paths = Object.entries(contract.paths).map(([path, item]) => {
    const own = Object.entries(item).filter(([, operation]) => rolesOf(operation).includes(role))
    return [path, Object.fromEntries(own.map(([method, operation]) => [method, withoutUnreadBody(operation)]))] as const
  })
  return { ...contract, paths: Object.fromEntries(paths.filter(([, item]) => Object.keys(item).length > 0)) }
}

/** The operation without its body, where the body may have any content type: the service does not read such a body. */
function withoutUnreadBody(operation: OperationObject): OperationObject {
  const { requestBody, ...others } = operation
  return requestBody && '*/*' in requestBody.content ? others : operation
}

/** Every operation of a document. */
export function routesOf(contract: Contract): Route[] {
  return Object.entries(contract.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ id: operation.operationId, method, path, operation })),
  )
}

/** The operations whose 401 answer says where to sign in (`authenticate_first`). */
export function signInFirstIn(contract: Contract): OperationId[] {
  const { schemas } = contract.components
  const saysSo = ({ operation: { responses } }: Route) =>
    JSON.stringify(schemasIn(responses['401']).map((name) => schemas[name])).includes('"authenticate_first"')
  return routesOf(contract)
    .filter(saysSo)
    .map(({ id }) => id)
}

/** The roles that serve an operation. */
export function rolesOf(operation: {
  readonly operationId: string
  readonly tags: readonly string[]
}): readonly RoleName[] {
  return operation.tags.flatMap((tag) => {
    const roles = ROLES_OF_TAG[tag]
    if (!roles) throw new Error(`The tag "${tag}" of ${operation.operationId} has no role. List it in ROLES_OF_TAG.`)
    return roles
  })
}

/** The names of the schemas that a part of the document refers to directly. */
export function schemasIn(part: unknown): string[] {
  const references = JSON.stringify([part]).matchAll(/"#\/components\/schemas\/([^"]+)"/g)
  return Array.from(references, ([, name = '']) => name)
}
