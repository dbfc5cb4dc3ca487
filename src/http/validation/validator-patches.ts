import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'

/**
 * Takes out of express-openapi-validator 5.6 what it does for nothing, in its own modules, which read these functions when they call them.
 * Doing it again changes nothing.
 */
export function spareValidatorWork(): void {
  const own = createRequire(import.meta.url)
  const requireThere = createRequire(own.resolve('express-openapi-validator'))
  skipDocumentSchema(requireThere('./framework/openapi.schema.validator') as DocumentModule)
  skipCheckersOfReferences(requireThere('./middlewares/parsers/schema.preprocessor') as PreprocessorModule)
  rememberContentTypes(requireThere('./middlewares/util') as ContentTypeModule)
  skipEmptyQuery(requireThere('./middlewares/parsers/req.parameter.mutator') as MutatorModule)
}

type DocumentModule = { OpenAPISchemaValidator: new () => object }

/** It compiles the schema of OpenAPI documents, a tenth of a second, and then checks none by it: `npm run lint` has checked ours. */
function skipDocumentSchema(module: DocumentModule): void {
  module.OpenAPISchemaValidator = class {
    validate = () => ({ errors: [] })
  }
}

type PreprocessorModule = { SchemaPreprocessor: { prototype: { preProcess: PreProcess } } }
type PreProcess = (this: { ajv: { getSchema: () => unknown } }) => unknown

/** It compiles a checker of every body only to look at the schema behind a reference, and then another to check; without one it looks into the document. */
function skipCheckersOfReferences({ SchemaPreprocessor: { prototype } }: PreprocessorModule): void {
  const { preProcess } = prototype
  if (preProcess.name === 'preProcessByDocument') return
  prototype.preProcess = function preProcessByDocument() {
    this.ajv = { getSchema: () => undefined }
    return preProcess.call(this)
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

type ContentTypeModule = { ContentType: { from: FromRequest; fromString: (type: string | undefined) => object } }
type FromRequest = (req: Pick<IncomingMessage, 'headers'>) => object

/** It takes the content type apart at each request, by four expressions; `plainContentType` has left three of them and none. */
function rememberContentTypes({ ContentType }: ContentTypeModule): void {
  const known = new Map<string | undefined, object>()
  ContentType.from = ({ headers: { 'content-type': type } }) => {
    const found = known.get(type)
    if (found) return found
    const contentType = ContentType.fromString(type)
    known.set(type, contentType)
    return contentType
  }
}
