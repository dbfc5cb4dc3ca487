import { createRequire } from 'node:module'
import type { Request } from 'express'

/**
 * Removes work that express-openapi-validator 5.6 does without any effect, by replacing two classes and two functions
 * of its modules. Each patch has a measured reason, and throws when the library no longer has what it replaces. Calling
 * this again changes nothing.
 */
export function patchValidator(): void {
  const here = createRequire(import.meta.url)
  const requireFromValidator = createRequire(here.resolve('express-openapi-validator'))
  skipDocumentSchema(requireFromValidator('./framework/openapi.schema.validator') as DocumentModule)
  skipQueryParsing(requireFromValidator('./middlewares/parsers/req.parameter.mutator') as MutatorModule)
  readTypesOnce(requireFromValidator('./middlewares/util') as TypesModule)
  findWithoutAjv(requireFromValidator('./middlewares/parsers/schema.preprocessor') as PreprocessorModule)
}

type DocumentModule = { OpenAPISchemaValidator?: new () => object }

/**
 * The validator compiles the JSON schema of OpenAPI documents even with `validateApiSpec: false`, which costs about 70
 * ms for each document. `npm run lint` validates the contract instead.
 */
function skipDocumentSchema(module: DocumentModule): void {
  if (typeof module.OpenAPISchemaValidator !== 'function') throw libraryChanged('OpenAPISchemaValidator')
  module.OpenAPISchemaValidator = class {
    validate = () => ({ errors: [] })
  }
}

type ModifyRequest = (this: object, req: { readonly originalUrl: string }) => void
type MutatorModule = { RequestParameterMutator?: { prototype: { modifyRequest?: ModifyRequest } } }

/**
 * The validator parses the URL of every request to convert query parameters to arrays and objects, which costs about 5
 * us of a model call. Without a query there is nothing to convert: the contract's headers and path parameters are
 * single values.
 */
function skipQueryParsing({ RequestParameterMutator }: MutatorModule): void {
  const modifyRequest = RequestParameterMutator?.prototype.modifyRequest
  if (!RequestParameterMutator || !modifyRequest) throw libraryChanged('RequestParameterMutator.modifyRequest')
  if (modifyRequest.name === 'modifyRequestWithQuery') return
  RequestParameterMutator.prototype.modifyRequest = function modifyRequestWithQuery(req) {
    if (req.originalUrl.includes('?')) modifyRequest.call(this, req)
  }
}

type ReadType = (this: object, req: Pick<Request, 'headers'>) => object
type TypesModule = { ContentType?: { from?: ReadType } }

/**
 * The validator reads the content type of every request by regular expressions, which costs about 3 us of a model call.
 * Requests have one of three types here (`content-type.ts`), so each is read once.
 */
function readTypesOnce({ ContentType }: TypesModule): void {
  const readType = ContentType?.from
  if (!ContentType || !readType) throw libraryChanged('ContentType.from')
  if (readType.name === 'readTypeOnce') return
  const known = new Map<string | undefined, object>()
  ContentType.from = function readTypeOnce(req) {
    const type = req.headers['content-type']
    const found = known.get(type) ?? readType.call(this, req)
    known.set(type, found)
    return found
  }
}

type Part = Readonly<Record<string, unknown>> | null | undefined
type Preprocessor = new (document: Part, ajv: { readonly serDesMap?: unknown }, responses: unknown) => object
type PreprocessorModule = { SchemaPreprocessor?: Preprocessor & { prototype: { resolveSchema?: unknown } } }

/**
 * The validator makes an ajv for each operation, and compiles each schema that the operation refers to, only to find
 * schemas in the document. That costs two thirds of opening a check. The contract has no `discriminator`, which would
 * need the ajv.
 */
function findWithoutAjv(module: PreprocessorModule): void {
  const original = module.SchemaPreprocessor
  if (!original?.prototype.resolveSchema) throw libraryChanged('SchemaPreprocessor.resolveSchema')
  if (original.name === 'PreprocessorWithoutAjv') return
  class PreprocessorWithoutAjv {
    readonly apiDoc: Part
    readonly serDesMap: unknown
    readonly responseOpts: unknown

    constructor(...[document, { serDesMap }, responses]: ConstructorParameters<Preprocessor>) {
      this.apiDoc = document
      this.serDesMap = serDesMap
      this.responseOpts = responses
    }

    /** References name schemas and parameters of the same document, without characters to escape (RFC 6901). */
    resolveSchema(schema: Part): unknown {
      const reference = schema?.['$ref']
      if (typeof reference !== 'string') return schema ?? null
      const [, ...names] = reference.split('/')
      return names.reduce<unknown>((part, name) => (part as Part)?.[name], this.apiDoc)
    }
  }
  Object.setPrototypeOf(PreprocessorWithoutAjv.prototype, original.prototype)
  module.SchemaPreprocessor = PreprocessorWithoutAjv
}

/** The version that this service is written for. */
const VERSION = '5.6.2'

/** Throws when another version of the validator is installed. It reads the version only: loading all takes 0.1 s. */
export function assertVersion(): void {
  const here = createRequire(import.meta.url)
  const { version } = here('express-openapi-validator/package.json') as { version: string }
  if (version === VERSION) return
  throw new Error(`This service is written for express-openapi-validator ${VERSION}, not ${version}. Run "npm ci".`)
}

/** The validator lacks what this service uses of it. */
export function libraryChanged(missing: string): Error {
  return new Error(`express-openapi-validator has no "${missing}". This service is written for version ${VERSION}.`)
}
