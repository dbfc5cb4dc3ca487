/** How the published document differs from the output of the TypeSpec emitter. */
import { orderPaths } from './order.ts'
import type { Operation, Paths } from './order.ts'

/** Turns the document of the emitter into the published one. */
export function toPublished<Document extends { readonly paths: Paths }>(document: Document): Document {
  const paths = Object.entries(document.paths).map(([route, item]) => {
    const operations = Object.entries(item).map(
      ([method, operation]) => [method, withoutEmptyCredential(operation)] as const,
    )
    return [route, Object.fromEntries(operations)] as const
  })
  return orderPaths({ ...document, paths: Object.fromEntries(paths) })
}

/**
 * The emitter writes `[{}]` for an operation that needs no credential. `[]` says the same. Prism, a mock server, refuses
 * every request to an operation with `[{}]`.
 */
function withoutEmptyCredential(operation: Operation): Operation {
  const isOpen = operation.security?.every((alternative) => Object.keys(alternative).length === 0)
  return isOpen ? { ...operation, security: [] } : operation
}
