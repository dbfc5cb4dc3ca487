import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Target } from './targets.ts'

/** Names and values in turn, as Node's `rawHeaders` and undici have them. */
export type HeaderList = string[]

/** What the caller's request may carry to an upstream; all else stays home: credentials, cookies, addresses, our own headers. */
const CROSSES_TO_UPSTREAM: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'content-type',
  'user-agent',
  'idempotency-key',
  'traceparent',
  'tracestate',
  // Clients of the responses style. Their organization and project headers stay home: the account is the operator's.
  'openai-beta',
  'originator',
  'version',
  'session-id',
  'session_id',
  'thread-id',
  'conversation_id',
  'x-client-request-id',
  // Clients of the messages style and agents that speak several.
  'x-app',
  'x-session-id',
  'x-session-affinity',
  'x-parent-session-id',
])

const PREFIXES_TO_UPSTREAM = [
  'anthropic-',
  'x-stainless-',
  'x-codex-',
  'x-claude-code-',
  'x-openai-',
  'x-responsesapi-',
] as const

/** What an upstream's answer may carry back. */
const CROSSES_TO_CALLER: ReadonlySet<string> = new Set([
  'content-type',
  // Only when an upstream compresses although it was asked not to: its bytes pass as they are.
  'content-encoding',
  'content-language',
  'cache-control',
  'retry-after',
  'retry-after-ms',
  'request-id',
  'x-request-id',
  'x-should-retry',
  'x-models-etag',
  'x-reasoning-included',
])

const PREFIXES_TO_CALLER = ['x-ratelimit-', 'anthropic-', 'openai-', 'x-codex-'] as const

/** A connection option names a header that belongs to one hop (RFC 9110, section 7.6.1). */
const NAMES_NO_HEADER: ReadonlySet<string> = new Set(['', 'close', 'keep-alive'])

/**
 * The headers of a call to a target: what may cross of the caller's, and the target's own credential. The body has been decoded on
 * arrival, so no content encoding is claimed; the answer is asked for uncompressed, because usage is read from its passing bytes.
 */
export function toUpstreamHeaders(
  callerHeaders: readonly string[],
  target: Pick<Target, 'bearer' | 'apiKey'>,
): HeaderList {
  const headers = credentialOf(target)
  headers.push('accept-encoding', 'identity')
  const ownHop: string[] = []
  for (let at = 0; at + 1 < callerHeaders.length; at += 2) {
    const name = (callerHeaders[at] ?? '').toLowerCase()
    const value = callerHeaders[at + 1] ?? ''
    if (name === 'connection') ownHop.push(...namedByConnection(value))
    else if (crossesToUpstream(name)) headers.push(name, value)
  }
  return ownHop.length > 0 ? without(headers, new Set(ownHop)) : headers
}

/** What may cross of an answer's headers (their names in lower case) and, where the upstream names the request itself, our own id beside. */
export function toCallerHeaders(
  answerHeaders: IncomingHttpHeaders,
  res: Pick<ServerResponse, 'getHeader'>,
): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const name in answerHeaders) if (crossesToCaller(name)) headers[name] = answerHeaders[name]
  // An upstream's support asks for its own id, so that one is shown as it came; ours stays findable.
  const ours = res.getHeader('x-request-id')
  if (ours !== undefined && namesTheRequest(answerHeaders)) headers['x-svc-request-id'] = ours
  return headers
}

function crossesToUpstream(name: string): boolean {
  return CROSSES_TO_UPSTREAM.has(name) || PREFIXES_TO_UPSTREAM.some((prefix) => name.startsWith(prefix))
}

function crossesToCaller(name: string): boolean {
  return CROSSES_TO_CALLER.has(name) || PREFIXES_TO_CALLER.some((prefix) => name.startsWith(prefix))
}

function namesTheRequest(answerHeaders: IncomingHttpHeaders): boolean {
  return answerHeaders['x-request-id'] !== undefined || answerHeaders['request-id'] !== undefined
}

/** A vendor that wants a key gets that alone: the bearer may be another vendor's. */
function credentialOf({ bearer, apiKey }: Pick<Target, 'bearer' | 'apiKey'>): HeaderList {
  if (apiKey) return ['x-api-key', apiKey.reveal()]
  return bearer ? ['authorization', `Bearer ${bearer.reveal()}`] : []
}

/** The headers that belong to the caller's hop alone; nearly always none. */
function namedByConnection(value: string): string[] {
  const options = value.toLowerCase().split(',')
  return options.map((option) => option.trim()).filter((option) => !NAMES_NO_HEADER.has(option))
}

/** The credential and what we ask for are ours, so a caller's `Connection` cannot take them away. */
function without(headers: HeaderList, names: ReadonlySet<string>): HeaderList {
  return headers.filter((_, at) => {
    const name = headers[at - (at % 2)] ?? ''
    return !names.has(name) || !crossesToUpstream(name)
  })
}
