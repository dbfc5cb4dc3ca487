import type { Dispatcher } from 'undici'
import type { HeaderList } from './headers.ts'
import type { Target } from './targets.ts'

/** A request to a target, its body whole. */
export type UpstreamCall = {
  readonly method: 'GET' | 'POST'
  /** With the target's own path and the query. */
  readonly path: string
  readonly headers: HeaderList
  readonly body: Buffer | null
}

/** Why there is no answer: no connection; no byte for too long; a connection that broke or did not speak HTTP. */
export type NoAnswer = 'unreachable' | 'timeout' | 'failed'

export type WholeAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: Buffer }
  | { readonly kind: NoAnswer; readonly reason: string }

/** Sends a call; the handler hears of everything that follows, also of a call that cannot be sent. Never throws. */
export function send(target: Target, call: UpstreamCall, handler: Dispatcher.DispatchHandler): void {
  target.pool.dispatch(call, handler)
}

/** Sends a call and waits for the whole answer, at most so long and so much. Never throws. */
export function sendWhole(
  target: Target,
  call: UpstreamCall,
  limits: { readonly timeoutMs: number; readonly maxBytes: number },
): Promise<WholeAnswer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let status = 0
    let bytes = 0
    let over = false
    let controller: Dispatcher.DispatchController | null = null

    const settle = (answer: WholeAnswer): void => {
      if (over) return
      over = true
      clearTimeout(timer)
      resolve(answer)
      if (answer.kind !== 'answered') controller?.abort(NOT_WANTED)
    }
    const timer = setTimeout(
      () => settle({ kind: 'timeout', reason: `no answer in ${limits.timeoutMs} ms` }),
      limits.timeoutMs,
    )

    send(target, call, {
      onRequestStart(started) {
        // Thrown here, undici drops the call unsent and keeps the connection.
        if (over) throw NOT_WANTED
        controller = started
      },
      onResponseStart(_controller, code) {
        status = code
      },
      onResponseData(_controller, chunk) {
        bytes += chunk.length
        if (bytes > limits.maxBytes)
          settle({ kind: 'failed', reason: `an answer of more than ${limits.maxBytes} bytes` })
        else chunks.push(chunk)
      },
      onResponseEnd: () => settle({ kind: 'answered', status, body: Buffer.concat(chunks) }),
      onResponseError: (_controller, error) => settle({ kind: toNoAnswer(error), reason: reasonOf(error) }),
    })
  })
}

/** One object for every call: an Error made for each would cost its stack. */
export const NOT_WANTED = new Error('Nobody waits for this answer any more.')

/** What an error of the HTTP client means. */
export function toNoAnswer(error: Error): NoAnswer {
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout'
  return UNREACHABLE.has(code) || code.startsWith('ERR_TLS') || code.startsWith('CERT_') ? 'unreachable' : 'failed'
}

/** The error in a word for the log; addresses and bytes of the peer stay out of it. */
export function reasonOf(error: Error): string {
  return codeOf(error) || error.name
}

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
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
