import type { RequestHandler } from 'express'
import { ApiError } from '../errors.ts'
import type { FindPath, FoundPath } from '../find-path.ts'

/**
 * Sets `req.operation`, `req.contractPath` and `req.params`, or refuses: no such route, or not with this method. The
 * library's own look-up tries all routes one by one and compiles their patterns for each request.
 */
export function makeFindOperation(findPath: FindPath): RequestHandler {
  return (req, _res, next) => {
    const found = findPath(req.path)
    if (!found) throw new ApiError('not_found')
    const operation = found.operations[req.method.toLowerCase()]
    if (!operation) throw new ApiError('method_not_allowed', { allow: toAllow(found) })
    Object.assign(req, { operation, contractPath: found.path, params: found.parameters })
    next()
  }
}

/** The methods of a path; HEAD works wherever GET does. */
function toAllow({ operations }: FoundPath): string {
  const methods = Object.keys(operations).map((method) => method.toUpperCase())
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ')
}
