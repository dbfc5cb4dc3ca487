import { hash } from 'node:crypto'
import express from 'express'
import type { NextFunction, Request, RequestHandler } from 'express'
import { middleware as openSteps } from 'express-openapi-validator'
import type { Contract, OperationObject } from '../contract.ts'
import { withApiErrors } from './errors.ts'
import { libraryChanged, patchValidator } from './patches.ts'
import { toRequestDocument } from './request-document.ts'

/** The two steps of the validator that this service uses. */
export type Validator = {
  /** Sets `req.operation` and `req.contractPath`, or refuses: no such route, or not with this method. */
  readonly findOperation: RequestHandler
  /** Checks parameters and body against the contract. */
  readonly checkRequest: RequestHandler
}

const opened = new Map<string, Promise<Validator>>()

/**
 * Opens the validator for one document. Rejects when the document is not valid, so that the start fails instead of each
 * request. `nameAllMistakes` reports every mistake of a request instead of the first one, which is for small bodies.
 *
 * A validator keeps nothing of the requests that it checks. So services in one process, as tests start them, share one:
 * making it takes half of the CPU time of their start.
 */
export function openValidator(contract: Contract, nameAllMistakes: boolean): Promise<Validator> {
  const document = toRequestDocument(contract)
  const key = hash('sha1', JSON.stringify([document, nameAllMistakes]))
  const validator = opened.get(key) ?? makeValidator(document, nameAllMistakes)
  opened.set(key, validator)
  return validator
}

async function makeValidator(document: Contract, nameAllMistakes: boolean): Promise<Validator> {
  patchValidator()
  const steps = openSteps({
    // The library's type of a 3.1 document demands fields that the standard does not.
    // With a server URL that has a path, the library would check nothing outside that path: so it gets "/".
    apiSpec: { ...document, servers: [{ url: '/' }] } as never,
    validateApiSpec: false,
    validateRequests: { allErrors: nameAllMistakes, allowUnknownQueryParameters: true },
    validateResponses: false,
    // `http/authenticate.ts` does this: the library runs all security schemes of an operation and creates an error for
    // each.
    validateSecurity: false,
    fileUploader: false,
    // "dereference" overflows the stack on recursive schemas.
    $refParser: { mode: 'bundle' },
  })
  await initialize(stepOf(steps, 'pathParamsMiddleware'))
  return {
    findOperation: withApiErrors(rememberOperations(stepOf(steps, 'metadataMiddleware'))),
    checkRequest: withApiErrors(stepOf(steps, 'requestMiddleware')),
  }
}

/** Finds a step of the library by its function's name. */
function stepOf(steps: readonly unknown[], name: string): RequestHandler {
  const found = steps.find((step): step is RequestHandler => typeof step === 'function' && step.name === name)
  if (!found) throw libraryChanged(name)
  return found
}

/** The library's first step waits until the document is loaded, and passes the errors of loading to `next`. */
function initialize(firstStep: RequestHandler): Promise<void> {
  return new Promise((resolve, reject) => {
    const next: NextFunction = (error?: unknown) =>
      error ? reject(error instanceof Error ? error : new Error('The contract could not be loaded.')) : resolve()
    // The step reads nothing of the request but the app.
    void firstStep({ app: express() } as unknown as Request, {} as never, next)
  })
}

/** What the library leaves at `req.openapi`; its check of the request reads it there. */
type Found = { readonly expressRoute: string; readonly openApiRoute: string; readonly schema: OperationObject }

/**
 * Runs the library's route look-up, which tries all routes one by one, and remembers its result for paths without
 * parameters.
 */
function rememberOperations(find: RequestHandler): RequestHandler {
  const known = new Map<string, Found>()
  return (req, res, next) => {
    const key = `${req.method} ${req.path}`
    const found = known.get(key)
    if (found) {
      setOperation(req, found)
      return next()
    }
    return find(req, res, (error?: unknown) => {
      const { openapi } = req as { openapi?: Found }
      if (openapi) setOperation(req, openapi)
      if (openapi?.expressRoute === req.path) known.set(key, openapi)
      next(error)
    })
  }
}

function setOperation(req: Request, openapi: Found): void {
  Object.assign(req, { openapi, operation: openapi.schema, contractPath: openapi.openApiRoute })
}
