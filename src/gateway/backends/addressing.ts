/** Where a request of a dialect goes at a backend, and whether its body or its path names the model. */
import { isVertexPath } from '../../kernel/network/backend-url.ts'
import { removeMembers, setMembers } from '../dialects/json/edit-json.ts'
import type { Backend } from './backend.ts'

export type DialectRequest = {
  /** The path below that of the API, such as `/messages`. */
  readonly path: string
  /** The URL of the caller's request, whose query goes along; null: none does. */
  readonly callerUrl: string | null
  /** A JSON object that names the model. */
  readonly body: Buffer
}

/** `model`: its name at the backend. */
type Asked = { readonly model: string; readonly wantsStream: boolean }

type Addressed = { readonly path: string; readonly body: Buffer }

/**
 * The path and the body of a request at a backend. Only the query is taken from the caller's URL. So no spelling of
 * that URL (absolute form, `..`, upper case) reaches another route with the service's credential.
 */
export function addressRequest(
  { apiPath }: Pick<Backend, 'apiPath'>,
  asked: Asked,
  { path, callerUrl, body }: DialectRequest,
): Addressed {
  return isVertexPath(apiPath)
    ? addressToVertex(apiPath, asked, { path, body })
    : { path: apiPath + path + queryOf(callerUrl ?? ''), body }
}

/** The query of a URL with its question mark; empty: it has none. */
function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at === -1 ? '' : url.slice(at)
}

/**
 * A request to a Claude model at Google's Vertex AI: the path names the model and says whether the answer is a stream,
 * and the body has a version (`@anthropic-ai/vertex-sdk`, client.ts). The query `beta=true`, which agents send, has no
 * meaning there.
 */
function addressToVertex(apiPath: string, { model, wantsStream }: Asked, { path, body }: Addressed): Addressed {
  const versioned = setMembers(body, { anthropic_version: 'vertex-2023-10-16' }) ?? body
  if (path.endsWith('/count_tokens')) return { path: `${apiPath}/count-tokens:rawPredict`, body: versioned }
  const method = wantsStream ? 'streamRawPredict' : 'rawPredict'
  return { path: `${apiPath}/${toSegment(model)}:${method}`, body: removeMembers(versioned, ['model']) }
}

/** A model's name as one segment of a path. Its version follows an `@`, which such a segment can have. */
function toSegment(model: string): string {
  return encodeURIComponent(model).replaceAll('%40', '@')
}
