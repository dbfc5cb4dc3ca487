import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Secret } from '../../kernel/secret.ts'

/** Names and values alternate, as in Node's `rawHeaders` and in undici. */
export type HeaderList = string[]

/** The service's own credential at a backend. `as`: `bearer`, or the name of the header that carries it. */
export type Credential = { readonly as: string; readonly secret: Secret }

/**
 * The caller's headers that mean the same in every dialect. They are sent to a backend of another dialect too. The ids
 * of traces are not among them: `calls/trace.ts` decides which backends get them.
 */
const CROSSES_DIALECTS: ReadonlySet<string> = new Set(['accept', 'accept-language', 'user-agent', 'idempotency-key'])

/**
 * The caller's headers that are sent to a backend. All others are dropped: credentials, cookies, addresses, our own.
 */
const CROSSES_TO_BACKEND: ReadonlySet<string> = new Set([
  ...CROSSES_DIALECTS,
  // Clients of the responses dialect. Organization and project headers are dropped: the account is the operator's.
  'openai-beta',
  'originator',
  'version',
  'session-id',
  'session_id',
  'thread-id',
  'conversation_id',
  'x-client-request-id',
  // Clients of the messages dialect, and agents that use several dialects.
  'x-app',
  'x-session-id',
  'x-session-affinity',
  'x-parent-session-id',
])

const PREFIXES_TO_BACKEND = [
  'anthropic-',
  'x-stainless-',
  'x-codex-',
  'x-claude-code-',
  'x-openai-',
  'x-responsesapi-',
] as const

/** Names with these prefixes that carry a credential, such as `x-openai-actor-authorization` of Codex. */
const NAMES_CREDENTIAL = /authorization|token|key|secret/

/**
 * A backend's headers that are sent to callers of every dialect: limits and ids of one vendor mean nothing to the
 * clients of another.
 */
const CROSSES_DIALECTS_BACK: ReadonlySet<string> = new Set([
  'content-type',
  // For a backend that compresses although it was asked not to: its bytes pass unchanged.
  'content-encoding',
  'cache-control',
  'retry-after',
  'retry-after-ms',
  'request-id',
  'x-request-id',
  'x-should-retry',
])

/** The headers of a backend's answer that are sent to the caller. */
const CROSSES_TO_CALLER: ReadonlySet<string> = new Set([
  ...CROSSES_DIALECTS_BACK,
  'content-language',
  'x-models-etag',
  'x-reasoning-included',
  // Not the whole prefixes `openai-` and `anthropic-`: other headers name the operator's organization and project.
  'openai-model',
  'openai-processing-ms',
  'openai-version',
])

const PREFIXES_TO_CALLER = [
  'x-ratelimit-',
  'anthropic-ratelimit-',
  // Limits of the fast mode and of the priority tier.
  'anthropic-fast-',
  'anthropic-priority-',
  'x-codex-',
] as const

/** The header with which clients ask for beta features of Anthropic's API. */
const BETAS = 'anthropic-beta'

/** Connection options that name no header (RFC 9110, section 7.6.1). */
const NAMES_NO_HEADER: ReadonlySet<string> = new Set(['', 'close', 'keep-alive'])

/**
 * Returns the headers of a request to a backend: the credential, and the caller's headers that are allowed. The content
 * type is set here, because a charset from the caller could make the backend read another body than the one that was
 * checked. There is no content encoding, because the body was decoded on arrival. The answer is requested uncompressed,
 * because token usage is read from its bytes. `isTranslated`: the backend is called in another dialect. `betas`: it
 * accepts those that the caller names.
 */
export function toBackendHeaders(
  callerHeaders: readonly string[],
  credential: Credential | null,
  { isTranslated = false, betas = true } = {},
): HeaderList {
  const headers = toCredentialHeader(credential)
  headers.push('content-type', 'application/json', 'accept-encoding', 'identity')
  const ownHop: string[] = []
  for (let at = 0; at + 1 < callerHeaders.length; at += 2) {
    const name = (callerHeaders[at] ?? '').toLowerCase()
    const value = callerHeaders[at + 1] ?? ''
    if (name === 'connection') ownHop.push(...namedByConnection(value))
    else if (name === BETAS && !betas) continue
    else if (isTranslated ? CROSSES_DIALECTS.has(name) : crossesToBackend(name)) headers.push(name, value)
  }
  return ownHop.length > 0 ? without(headers, new Set(ownHop)) : headers
}

/**
 * Returns the headers of a backend's answer that are sent to the caller; names are in lower case. Adds our request id
 * where the backend sent its own. `isTranslated`: the backend was called in another dialect.
 */
export function toCallerHeaders(
  answerHeaders: IncomingHttpHeaders,
  res: Pick<ServerResponse, 'getHeader'>,
  isTranslated = false,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const name in answerHeaders) {
    if (isTranslated ? CROSSES_DIALECTS_BACK.has(name) : crossesToCaller(name)) headers[name] = answerHeaders[name]
  }
  // The backend's support asks for the backend's own id, so that one is shown unchanged. Ours names the call in our
  // log.
  const ours = res.getHeader('x-request-id')
  if (ours !== undefined && namesTheRequest(answerHeaders)) headers['x-svc-request-id'] = ours
  return headers
}

function crossesToBackend(name: string): boolean {
  if (CROSSES_TO_BACKEND.has(name)) return true
  return PREFIXES_TO_BACKEND.some((prefix) => name.startsWith(prefix)) && !NAMES_CREDENTIAL.test(name)
}

function crossesToCaller(name: string): boolean {
  return CROSSES_TO_CALLER.has(name) || PREFIXES_TO_CALLER.some((prefix) => name.startsWith(prefix))
}

function namesTheRequest(answerHeaders: IncomingHttpHeaders): boolean {
  return answerHeaders['x-request-id'] !== undefined || answerHeaders['request-id'] !== undefined
}

function toCredentialHeader(credential: Credential | null): HeaderList {
  if (!credential) return []
  const secret = credential.secret.reveal()
  return credential.as === 'bearer' ? ['authorization', `Bearer ${secret}`] : [credential.as, secret]
}

/** Sets further headers, also in place of those that are there. */
export function withHeaders(headers: HeaderList, further: Readonly<Record<string, string>>): HeaderList {
  const kept = headers.filter((_, at) => !Object.hasOwn(further, headers[at - (at % 2)] ?? ''))
  return [...kept, ...Object.entries(further).flat()]
}

/** The headers that `Connection` restricts to the caller's own hop (RFC 9110, section 7.6.1). */
function namedByConnection(value: string): string[] {
  const options = value.toLowerCase().split(',')
  return options.map((option) => option.trim()).filter((option) => !NAMES_NO_HEADER.has(option))
}

/** Removes these headers, but not those set here: a caller's `Connection` cannot remove the credential. */
function without(headers: HeaderList, names: ReadonlySet<string>): HeaderList {
  return headers.filter((_, at) => {
    const name = headers[at - (at % 2)] ?? ''
    return !names.has(name) || !crossesToBackend(name)
  })
}
