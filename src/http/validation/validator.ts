import express from 'express'
import type { NextFunction, Request, RequestHandler } from 'express'
import { isUuid } from '../../kernel/identifier.ts'
import type { Contract, OperationObject, Route } from '../contract.ts'
import { ApiError } from '../errors.ts'
import { operationOf } from '../request.ts'
import { findPatternWords, withApiErrors } from './errors.ts'
import { assertVersion, libraryChanged, patchValidator } from './patches.ts'
import { toRequestDocument } from './request-document.ts'

/** Checks the parameters and the body of requests against the contract. */
export type Validator = {
  readonly checkRequest: RequestHandler
  /** Opens the check of an operation before its first request. */
  open(route: Route): Promise<unknown>
}

/** Loads the library, which takes a tenth of a second. */
export function loadLibrary() {
  return import('express-openapi-validator')
}

type Check = { readonly opening: Promise<RequestHandler>; opened: RequestHandler | null }

/** A check keeps nothing of the requests that it has seen, so the services that tests start in one process share it. */
const checksOfFirstMistake = new WeakMap<OperationObject, Check>()
const checksOfAllMistakes = new WeakMap<OperationObject, Check>()

type Options = { readonly nameAllMistakes: boolean }

/**
 * Makes the validator of a document. It loads the library and opens the check of an operation when the first request
 * needs it. `nameAllMistakes` reports every mistake of a request instead of the first one, which is for small bodies.
 * Throws when the library or the document has another version than this service is written for.
 */
export function makeValidator(contract: Contract, { nameAllMistakes }: Options): Validator {
  assertVersion()
  if (!contract.openapi.startsWith('3.1.')) throw new Error('The contract is not an OpenAPI 3.1 document.')
  const checks = nameAllMistakes ? checksOfAllMistakes : checksOfFirstMistake
  const open = (route: Route): Promise<RequestHandler> => {
    const known = checks.get(route.operation)
    if (known) return known.opening
    const check: Check = { opening: openCheck(contract, route, { nameAllMistakes }), opened: null }
    checks.set(route.operation, check)
    check.opening.then(
      (opened) => (check.opened = opened),
      () => checks.delete(route.operation),
    )
    return check.opening
  }
  return {
    checkRequest(req, res, next) {
      const operation = operationOf(req)
      if (!takesInput(operation)) return next()
      const opened = checks.get(operation)?.opened
      if (opened) return opened(req, res, next)
      const { method, contractPath: path = '' } = req
      const route = { id: operation.operationId, method: method.toLowerCase(), path, operation }
      return open(route).then((check) => check(req, res, next))
    },
    open,
  }
}

function takesInput({ parameters = [], requestBody }: OperationObject): boolean {
  return parameters.length > 0 || requestBody !== undefined
}

/** Rejects when the operation's part of the document is not valid. */
async function openCheck(contract: Contract, route: Route, { nameAllMistakes }: Options): Promise<RequestHandler> {
  const { middleware: openSteps } = await loadLibrary()
  patchValidator()
  const document = toRequestDocument(contract, route)
  const steps = openSteps({
    // The library's type of a 3.1 document demands fields that the standard does not.
    // With a server URL that has a path, the library would check nothing outside that path: so it gets "/".
    apiSpec: { ...document, servers: [{ url: '/' }] } as never,
    validateApiSpec: false,
    validateRequests: { allErrors: nameAllMistakes, allowUnknownQueryParameters: true },
    // "fast", which is the default, takes 31 February for a day.
    ajvFormats: { mode: 'full' },
    // The library's own also takes `urn:uuid:...`, which the database refuses as an id.
    formats: { uuid: isUuid },
    validateResponses: false,
    // `http/authenticate.ts` does this: the library runs all security schemes of an operation and creates an error for
    // each.
    validateSecurity: false,
    fileUploader: false,
    // "dereference" overflows the stack on recursive schemas.
    $refParser: { mode: 'bundle' },
  })
  const found = await findInLibrary(steps, route)
  const words = new Map(findPatternWords(document))
  const check = withApiErrors(stepOf(steps, 'requestMiddleware'), words)
  return (req, res, next) => {
    // The library's check reads the operation and the parameters of the path here.
    Object.assign(req, { openapi: { ...found, pathParams: req.params } })
    return check(req, res, (error?: unknown) => next(error ?? judgeNumbers(req.query)))
  }
}

/**
 * The refusal of a number in the query that is not finite; undefined when there is none. The library converts
 * `Infinity` and `1e309` to such a number, and then checks neither its minimum nor its maximum.
 */
function judgeNumbers(query: object): ApiError | undefined {
  const [name] = Object.entries(query).find(([, value]) => typeof value === 'number' && !Number.isFinite(value)) ?? []
  return name === undefined
    ? undefined
    : new ApiError('invalid_request', { message: `The query parameter ${name} must be a whole number.` })
}

/** Finds a step of the library by its function's name. */
function stepOf(steps: readonly unknown[], name: string): RequestHandler {
  const found = steps.find((step): step is RequestHandler => typeof step === 'function' && step.name === name)
  if (!found) throw libraryChanged(name)
  return found
}

type Probe = Pick<Request, 'app' | 'method' | 'path' | 'originalUrl' | 'baseUrl'> & { readonly openapi?: object }

/**
 * Runs the two steps of the library that look an operation up, and returns what they leave at `req.openapi`. The first
 * one waits until the document is loaded.
 */
async function findInLibrary(steps: readonly unknown[], { method, path }: Route): Promise<object> {
  const url = path.replaceAll(/\{\w+\}/g, 'x')
  // The two steps read nothing else of a request.
  const probe: Probe = { app: express(), method: method.toUpperCase(), path: url, originalUrl: url, baseUrl: '' }
  await runStep(stepOf(steps, 'pathParamsMiddleware'), probe)
  await runStep(stepOf(steps, 'metadataMiddleware'), probe)
  if (!probe.openapi) throw libraryChanged('req.openapi')
  return probe.openapi
}

function runStep(step: RequestHandler, request: object): Promise<void> {
  return new Promise((resolve, reject) => {
    const next: NextFunction = (error?: unknown) =>
      error ? reject(error instanceof Error ? error : new Error('The contract could not be loaded.')) : resolve()
    void step(request as Request, {} as never, next)
  })
}
