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
  skipEmptyQuery(requireThere('./middlewares/parsers/req.parameter.mutator') as MutatorModule)
}

type PathModule = { pathToRegexp: (path: string, options: PathOptions) => unknown }
type PathOptions = { readonly sensitive?: boolean; readonly strict?: boolean }

/**
 * It compiles the pattern of every route again for each request, and tries one after the other. Routes are few and fixed, and most of them are
 * plain words, which are found by comparing.
 */
function rememberPathPatterns(module: PathModule): void {
  if (module.pathToRegexp.name === 'remembered') return
  const compile = module.pathToRegexp
  const compiled = new Map<
    string,
    { readonly isSensitive: boolean; readonly isStrict: boolean; readonly pattern: unknown }
  >()
  module.pathToRegexp = function remembered(path, options) {
    const { sensitive: isSensitive = false, strict: isStrict = false } = options
    const known = compiled.get(path)
    if (known?.isSensitive === isSensitive && known.isStrict === isStrict) return known.pattern
    const isPlain = isSensitive && !isStrict && /^[/\w.-]+$/.test(path)
    const pattern = isPlain ? plainPattern(path) : compile(path, options)
    compiled.set(path, { isSensitive, isStrict, pattern })
    return pattern
  }
}

/** Matches what path-to-regexp makes of a path without parameters: this path, with or without a slash at its end. */
function plainPattern(path: string) {
  const withSlash = path.endsWith('/') ? path : `${path}/`
  const exec = (sent: string) => (sent === path || sent === withSlash ? [sent] : null)
  return { regexp: { exec }, keys: [] }
}

type DocumentModule = { OpenAPISchemaValidator: new () => object }

/** It compiles the schema of OpenAPI documents, a tenth of a second, and then checks none by it: `npm run lint` has checked ours. */
function skipDocumentSchema(module: DocumentModule): void {
  module.OpenAPISchemaValidator = class {
    validate = () => ({ errors: [] })
  }
}

type MutatorModule = { RequestParameterMutator: { prototype: { modifyRequest: ModifyRequest } } }
type ModifyRequest = (this: object, req: { readonly originalUrl: string }) => void

/**
 * It takes the address apart, slowly, to turn query parameters into arrays and objects, which the contract's are not; and it looks at
 * headers, cookies and path parameters in the same way, which are single values too. Where there is no query, nothing is to do.
 */
function skipEmptyQuery({ RequestParameterMutator: { prototype } }: MutatorModule): void {
  const { modifyRequest } = prototype
  if (modifyRequest.name === 'modifyWithQuery') return
  prototype.modifyRequest = function modifyWithQuery(req) {
    if (req.originalUrl.includes('?')) modifyRequest.call(this, req)
  }
}
