import type { Dispatcher, Pool } from 'undici'
import { codeOf, UNTRUSTED_CERTIFICATE } from '../../kernel/error-code.ts'
import { ByteChunks } from '../../kernel/pieces.ts'
import type { HeaderList } from './headers.ts'

/** A request to a backend with its whole body. */
export type BackendRequest = {
  readonly method: 'GET' | 'POST'
  /** The path with its query. */
  readonly path: string
  readonly headers: HeaderList
  readonly body: Buffer | null
}

/**
 * Why there is no answer. `unreachable`: no connection. `timeout`: no byte within the time limit. `failed`: the
 * connection broke, or the answer was not HTTP.
 */
export type NoAnswer = 'unreachable' | 'timeout' | 'failed'

/** A whole answer, or why there is none. */
export type BackendReply =
  | { readonly kind: 'answered'; readonly status: number; readonly body: Buffer }
  | { readonly kind: NoAnswer; readonly reason: string }
  /** The signal has ended the request. */
  | { readonly kind: 'left'; readonly reason: null }

type Limits = {
  readonly timeoutMs: number
  readonly maxBytes: number
  /** Ends the request; absent: only the other limits do. */
  readonly signal?: AbortSignal
}

/**
 * The reason for aborting a request that is no longer needed. One object for all requests, because each new Error
 * costs a stack trace.
 */
export const NOT_NEEDED = new Error('The answer to this request is not needed any more.')

/** Sends a request and waits for the whole answer, within the limits. Never rejects. */
export function sendAndWait(
  pool: Pool,
  request: BackendRequest,
  { timeoutMs, maxBytes, signal }: Limits,
): Promise<BackendReply> {
  return new Promise((resolve) => {
    const chunks = new ByteChunks()
    let status = 0
    let isOver = false
    let controller: Dispatcher.DispatchController | null = null

    const settle = (reply: BackendReply): void => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', leave)
      resolve(reply)
      if (reply.kind !== 'answered') controller?.abort(NOT_NEEDED)
    }
    const timer = setTimeout(() => settle({ kind: 'timeout', reason: `no answer in ${timeoutMs} ms` }), timeoutMs)
    const leave = () => settle({ kind: 'left', reason: null })
    if (signal?.aborted) return leave()
    signal?.addEventListener('abort', leave)

    pool.dispatch(request, {
      onRequestStart(started) {
        // When this throws, undici drops the request unsent and keeps the connection.
        if (isOver) throw NOT_NEEDED
        controller = started
      },
      onResponseStart(_controller, code) {
        status = code
      },
      onResponseData(_controller, chunk) {
        chunks.add(chunk)
        if (chunks.length > maxBytes) settle({ kind: 'failed', reason: `an answer of more than ${maxBytes} bytes` })
      },
      onResponseEnd: () => settle({ kind: 'answered', status, body: chunks.take() }),
      onResponseError: (_controller, error) => settle({ kind: toNoAnswer(error), reason: reasonOf(error) }),
    })
  })
}

/** Classifies an error of the HTTP client. */
function toNoAnswer(error: Error): NoAnswer {
  const code = codeOf(error) ?? ''
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  return UNREACHABLE.has(code) || UNREACHABLE_START.test(code) ? 'unreachable' : 'failed'
}

/** Classifies an error of the HTTP client after a request has been written: the backend may have got it. */
export function toNoAnswerAfterSending(error: Error): NoAnswer {
  const kind = toNoAnswer(error)
  return kind === 'unreachable' ? 'failed' : kind
}

/** Returns one word about an error for the log. Its message could contain addresses and bytes of the other side. */
export function reasonOf(error: Error): string {
  return codeOf(error) || error.name
}

/** The codes of failures of TLS, and of a proxy that makes no connection. */
const UNREACHABLE_START = /^(?:ERR_TLS|CERT_|PROXY_)/

const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'EHOSTDOWN',
  'ETIMEDOUT',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  // Of the look-up for the backends of admins.
  'ERR_ADDRESS_NOT_ALLOWED',
  ...UNTRUSTED_CERTIFICATE,
])
