import type { RequestHandler } from 'express'
import type { Contract } from './contract.ts'
import { routesOf } from './contract.ts'
import type { Handlers, OperationId } from './operation.ts'
import { operationOf } from './request.ts'

/**
 * Runs the handler of the matched operation. Throws at start when an operation of the contract has no handler or a
 * handler no operation, so that the document and the service always agree.
 */
export function mount(contract: Contract, handlers: Partial<Handlers<OperationId>>): RequestHandler {
  const ids = new Set<string>(routesOf(contract).map(({ id }) => id))
  const missing = [...ids].filter((id) => !(id in handlers))
  const extra = Object.keys(handlers).filter((id) => !ids.has(id))
  if (missing.length + extra.length > 0) {
    throw new Error(`Contract and handlers differ. Missing: ${list(missing)}. Not in the contract: ${list(extra)}.`)
  }
  // Each handler has the type of its own operation. The check above ties the list to the contract.
  const byId = handlers as unknown as Partial<Record<OperationId, RequestHandler>>
  return (req, res, next) => byId[operationOf(req).operationId]?.(req, res, next)
}

/** Converts a path to Express's notation: `/v1/workers/{id}` becomes `/v1/workers/:id`. */
export function toExpressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function list(ids: readonly string[]): string {
  return ids.length > 0 ? ids.join(', ') : 'none'
}
