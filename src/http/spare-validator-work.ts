import { createRequire } from 'node:module'

/**
 * Takes out of express-openapi-validator 5.6 what it does for nothing, in its own modules, which read these functions when they call them.
 * Doing it again changes nothing.
 */
export function spareValidatorWork(): void {
  const own = createRequire(import.meta.url)
  const requireThere = createRequire(own.resolve('express-openapi-validator'))
  rememberPathPatterns(requireThere('path-to-regexp') as PathModule)
  skipDocumentSchema(requireThere('./framework/openapi.schema.validator') as DocumentModule)
}

type PathModule = { pathToRegexp: (path: string, options: { sensitive?: boolean; strict?: boolean }) => unknown }

/** It compiles the pattern of every route again for each request; routes are few and fixed. */
function rememberPathPatterns(module: PathModule): void {
  if (module.pathToRegexp.name === 'remembered') return
  const compile = module.pathToRegexp
  const compiled = new Map<string, unknown>()
  module.pathToRegexp = function remembered(path, options) {
    const key = `${path} ${options.sensitive} ${options.strict}`
    if (!compiled.has(key)) compiled.set(key, compile(path, options))
    return compiled.get(key)
  }
}

type DocumentModule = { OpenAPISchemaValidator: new () => object }

/** It compiles the schema of OpenAPI documents, a tenth of a second, and then checks none by it: `npm run lint` has checked ours. */
function skipDocumentSchema(module: DocumentModule): void {
  module.OpenAPISchemaValidator = class {
    validate = () => ({ errors: [] })
  }
}
