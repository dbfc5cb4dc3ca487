import express from 'express'
import type { NextFunction, Request, RequestHandler } from 'express'
import { middleware as openApiValidator } from 'express-openapi-validator'
import { accessOf, authenticate } from '../authenticate.ts'
import type { Access, Schemes } from '../authenticate.ts'
import { hasBody } from '../body.ts'
import { requestsOf } from '../contract.ts'
import type { Contract } from '../contract.ts'
import { ApiError } from '../errors.ts'
import type { OperationId } from '../operation.ts'
import { operationOf } from '../request.ts'
import type { FoundOperation } from '../request.ts'
import { spareValidatorWork } from './validator-patches.ts'

type Needs = {
  readonly contract: Contract
  readonly schemes: Schemes
  /** Told why it could not be found out who calls. */
  readonly onFailure: (error: unknown) => void
  /** Runs before the caller of an operation that needs one is known. */
  readonly limit?: RequestHandler
  /** Reads the body into `req.body`; runs after the caller is known, so strangers cannot make us parse. */
  readonly parseBody: RequestHandler
  /** Name every mistake of a body and not only the first: for bodies that are small. */
  readonly nameAllMistakes: boolean
}

/**
 * What stands before every handler of a part: the operation is found, the caller known, the body parsed and the request checked against
 * the contract, in this order. Rejects when the contract itself is not valid, so that the start fails and not each request.
 */
export async function guard(needs: Needs): Promise<RequestHandler[]> {
  const { contract, limit, parseBody, onFailure } = needs
  const { find, validate } = await openValidator(needs)
  const access = accessOf(contract, needs.schemes)
  return [
    rememberOperations(find),
    ...(limit ? [whereCaller(access, limit)] : []),
    authenticate(contract, access, onFailure),
    settleEmptyBody,
    whereBody(parseBody),
    validate,
    needBody,
  ]
}

async function openValidator({ contract, nameAllMistakes }: Pick<Needs, 'contract' | 'nameAllMistakes'>) {
  spareValidatorWork()
  const steps = openApiValidator({
    // The validator's own type of a 3.1 document asks for fields that the standard does not.
    // Under a server with a path it would check nothing outside that path, and let everybody in there: so it sees no servers.
    apiSpec: { ...requestsOf(contract), servers: [{ url: '/' }] } as never,
    validateApiSpec: false,
    // A query parameter that nobody reads changes nothing; an operation without any documents no 400.
    validateRequests: { allErrors: nameAllMistakes, allowUnknownQueryParameters: true },
    validateResponses: false,
    // It runs all alternatives of a request, and makes an error, stack and all, of each that has no credential.
    validateSecurity: false,
    fileUploader: false,
    // "dereference" would overflow the stack on recursive schemas.
    $refParser: { mode: 'bundle' },
  })
  const [init, find, validate] = [
    stepOf(steps, 'pathParamsMiddleware'),
    stepOf(steps, 'metadataMiddleware'),
    stepOf(steps, 'requestMiddleware'),
  ]
  await started(init)
  return { find, validate }
}

type Step = RequestHandler

/** The steps are known by name; another version of the validator that names them differently must not start. */
function stepOf(steps: readonly unknown[], name: string): Step {
  const found = steps.find((step): step is Step => typeof step === 'function' && step.name === name)
  if (!found)
    throw new Error(`express-openapi-validator has no step "${name}"; this service is made for version 5.6.2.`)
  return found
}

/** The first step waits until the document is loaded and passes on what is wrong with it. */
function started(init: Step): Promise<void> {
  return new Promise((resolve, reject) => {
    const next: NextFunction = (error?: unknown) =>
      error ? reject(error instanceof Error ? error : new Error('The contract could not be loaded.')) : resolve()
    // It touches nothing of the request but the app.
    void init({ app: express() } as unknown as Request, {} as never, next)
  })
}

/** The validator goes through all routes for each request. What it finds for a path without parameters is always the same, and kept. */
function rememberOperations(find: Step): Step {
  const known = new Map<string, FoundOperation>()
  return (req, res, next) => {
    const key = `${req.method} ${req.path}`
    const operation = known.get(key)
    if (operation) {
      req.openapi = operation
      return next()
    }
    return find(req, res, (error?: unknown) => {
      if (req.openapi?.expressRoute === req.path) known.set(key, req.openapi)
      next(error)
    })
  }
}

/** A request without a body has no content type either, unless the operation wants one and shall say what is missing. */
const settleEmptyBody: RequestHandler = (req, _res, next) => {
  if (!hasBody(req)) {
    const type = requiredTypeOf(req)
    if (type) req.headers['content-type'] = type
    else delete req.headers['content-type']
  }
  next()
}

/** Where no field of a required body is required, the validator lets none at all pass. */
const needBody: RequestHandler = (req, _res, next) => {
  const isMissing = req.body === undefined && operationOf(req).requestBody?.required === true
  next(isMissing ? new ApiError('invalid_request', { message: 'This route needs a body.' }) : undefined)
}

/** A body that the operation does not take is not read either, so nothing can be wrong with it. */
function whereBody(parseBody: RequestHandler): RequestHandler {
  return (req, res, next) => (hasBody(req) && operationOf(req).requestBody ? parseBody(req, res, next) : next())
}

/** An operation for anybody, such as the health, is not limited. */
function whereCaller(access: ReadonlyMap<OperationId, Access>, limit: RequestHandler): RequestHandler {
  return (req, res, next) => (access.get(operationOf(req).operationId)?.isOpen ? next() : limit(req, res, next))
}

/** The type that a body would have, where one is required: JSON, unless the operation takes only forms. */
function requiredTypeOf(req: Request): string | undefined {
  const { required = false, content = {} } = operationOf(req).requestBody ?? {}
  const [first] = Object.keys(content)
  return required ? first : undefined
}
