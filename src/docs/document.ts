import { rolesOf } from '../http/contract.ts'
import type { Contract, RoleName } from '../http/contract.ts'

/** The values of a deployment that its document contains. */
export type DocumentValues = {
  readonly baseUrl: string
  readonly gatewayUrl: string
  /** Whether cookies have the names that they have over HTTPS. */
  readonly secure: boolean
}

/** The keywords of a schema (JSON Schema 2020-12) that the page shows. */
export type Schema = {
  readonly $ref?: string
  readonly type?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly examples?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly additionalProperties?: boolean | Schema
}

export type Media = {
  readonly schema?: Schema
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>
}
export type Content = Readonly<Record<string, Media>>
export type Parameter = {
  /** A reference to a parameter that several operations share. The other fields are then missing. */
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema?: Schema
  readonly example?: unknown
}
export type Answer = {
  readonly description: string
  readonly content?: Content
  readonly headers?: Readonly<Record<string, { readonly description?: string }>>
}
export type Server = { readonly url: string; readonly description?: string }
export type DocumentedOperation = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary?: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required?: boolean; readonly content: Content }
  readonly responses: Readonly<Record<string, Answer>>
  readonly security?: readonly Readonly<Record<string, unknown>>[]
  /** Where the operation is, if it is not at all servers of the document. */
  readonly servers?: readonly Server[]
}

export type SecurityScheme = {
  readonly scheme?: string
  readonly in?: string
  readonly name?: string
  readonly description?: string
}

/** The published document (OpenAPI 3.1). */
export type Document = {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string; readonly description?: string }
  readonly servers: readonly Server[]
  readonly tags?: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters?: Readonly<Record<string, Parameter>>
    readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  }
}

/** Returns the contract with the base URLs and the cookie names of a deployment. */
export function documentOf(contract: Contract, { baseUrl, gatewayUrl, secure }: DocumentValues): Document {
  // `Contract` declares only the parts that the rest of the service reads.
  const document = contract as unknown as Document
  const schemes = Object.entries(document.components.securitySchemes).map(([name, scheme]) => {
    const isHostCookie = secure && scheme.in === 'cookie' && scheme.name !== undefined
    return [name, isHostCookie ? { ...scheme, name: `__Host-${scheme.name}` } : scheme] as const
  })
  const servers = {
    'control-plane': { url: baseUrl, description: 'Control plane' },
    gateway: { url: gatewayUrl, description: 'Gateway' },
  }
  return {
    ...document,
    // Programs use the first server of the document for every operation that names none.
    paths: baseUrl === gatewayUrl ? document.paths : placedAt(servers, document.paths),
    servers: Object.values(servers),
    components: { ...document.components, securitySchemes: Object.fromEntries(schemes) },
  }
}

/** The paths, with its server in each operation that only one role serves. */
function placedAt(servers: Readonly<Record<RoleName, Server>>, paths: Document['paths']): Document['paths'] {
  const placed = (operation: DocumentedOperation): DocumentedOperation => {
    const roles = rolesOf(operation)
    return roles.length === 1 ? { ...operation, servers: roles.map((role) => servers[role]) } : operation
  }
  const items = Object.entries(paths).map(([path, item]) => {
    const operations = Object.entries(item).map(([method, operation]) => [method, placed(operation)] as const)
    return [path, Object.fromEntries(operations)] as const
  })
  return Object.fromEntries(items)
}
