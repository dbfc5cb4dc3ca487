import type { Duplex } from 'node:stream'
import { newIdentifier } from '../kernel/identifier.ts'
import type { Logger } from '../log.ts'

/** What the client of such a request gets. */
type Refusal = { readonly status: string; readonly code: string; readonly message: string }

const INVALID: Refusal = {
  status: '400 Bad Request',
  code: 'invalid_request',
  message: 'The request is not valid HTTP.',
}

/** By the code of the error of Node.js. */
const REFUSALS: ReadonlyMap<string | undefined, Refusal> = new Map([
  [
    'HPE_HEADER_OVERFLOW',
    {
      status: '431 Request Header Fields Too Large',
      code: 'invalid_request',
      message: 'The headers of the request are too large. Send fewer or shorter ones.',
    },
  ],
  [
    'HPE_CHUNK_EXTENSIONS_OVERFLOW',
    {
      status: '413 Payload Too Large',
      code: 'payload_too_large',
      message: 'The extensions of the chunks of the body are too large.',
    },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    { status: '408 Request Timeout', code: 'invalid_request', message: 'The request did not arrive in time.' },
  ],
])

/**
 * Makes a listener for requests that the HTTP parser of Node.js refuses, which the app never sees. They get the error
 * envelope and an id, like all others. `hasAnswer`: the request has an answer or a part of one, so no other can follow.
 */
export function refuseMalformed(hasAnswer: (socket: Duplex) => boolean, log?: Logger) {
  return (error: NodeJS.ErrnoException, socket: Duplex): void => {
    if (!socket.writable || error.code === 'ECONNRESET' || hasAnswer(socket)) return void socket.destroy()
    const refusal = REFUSALS.get(error.code) ?? INVALID
    const requestId = newIdentifier('req_')
    log?.info({ requestId, status: Number.parseInt(refusal.status), reason: error.code }, 'http.malformed')
    socket.end(toAnswer(refusal, requestId), () => socket.destroy())
  }
}

function toAnswer({ status, code, message }: Refusal, requestId: string): string {
  const body = JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', code, message } })
  const head = [
    `HTTP/1.1 ${status}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Cache-Control: no-store',
    `x-request-id: ${requestId}`,
    `request-id: ${requestId}`,
    'Connection: close',
  ]
  return `${head.join('\r\n')}\r\n\r\n${body}`
}
