import type { Router } from 'express'
import type { Contract } from './contract.ts'
import { routesOf } from './contract.ts'
import type { Handlers, OperationId } from './operation.ts'

/**
 * Gives every operation of the contract its handler. Refuses to start when one has no handler, or a handler no operation: what is
 * documented and what is served are the same.
 */
export function mount(router: Router, contract: Contract, handlers: Partial<Handlers<OperationId>>): void {
  const routes = routesOf(contract)
  const missing = routes.filter((route) => !handlers[route.id]).map((route) => route.id)
  const extra = Object.keys(handlers).filter((id) => !routes.some((route) => route.id === id))
  if (missing.length + extra.length > 0) {
    throw new Error(`Contract and handlers differ. Missing: ${list(missing)}. Not in the contract: ${list(extra)}.`)
  }
  for (const { id, method, path } of routes) {
    // Each handler is typed by its own operation; here they are one list, which the check above ties to the contract.
    const handler = handlers[id] as unknown as Parameters<Router['get']>[1]
    router[method as 'get' | 'post' | 'put' | 'patch' | 'delete'](toExpressPath(path), handler)
  }
}

/** `/v1/workers/{id}` in Express's notation: `/v1/workers/:id`. */
export function toExpressPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

function list(ids: readonly string[]): string {
  return ids.length > 0 ? ids.join(', ') : 'none'
}
