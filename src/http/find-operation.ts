import type { RequestHandler } from 'express'
import { ApiError } from './errors.ts'
import type { FoundPath } from './find-path.ts'

/**
 * Sets `req.operation`, `req.contractPath` and `req.params` from `req.foundPath`, or refuses the method. The look-up of
 * express-openapi-validator is not used: it tries all routes one by one, and compiles their patterns for each request.
 */
export const findOperation: RequestHandler = (req, _res, next) => {
  const { foundPath } = req
  if (!foundPath) throw new Error('The path of the request has not been looked up yet.')
  const operation = foundPath.operations[req.method.toLowerCase()]
  if (!operation) throw refuseMethod(req.method, toAllow(foundPath))
  Object.assign(req, { operation, contractPath: foundPath.path, params: foundPath.parameters })
  next()
}

/** Names the methods in the message too, for people who do not see the header. */
function refuseMethod(method: string, allow: string): ApiError {
  return new ApiError('method_not_allowed', { allow, message: `This route supports ${allow}, but not ${method}.` })
}

/** The methods of a path; HEAD works wherever GET does. */
function toAllow({ operations }: FoundPath): string {
  const methods = Object.keys(operations).map((method) => method.toUpperCase())
  return [...methods, ...(methods.includes('GET') ? ['HEAD'] : [])].join(', ')
}
