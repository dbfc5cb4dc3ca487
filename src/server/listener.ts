import type { ServerOptions } from 'node:http'
import type { AddressInfo, Server } from 'node:net'
import { OperatorError } from '../kernel/operator-error.ts'

/** The service cannot listen on the configured address. */
export class AddressError extends OperatorError {
  override readonly name = 'AddressError'

  constructor(host: string, port: number, setting: 'SVC_PORT' | 'SVC_METRICS_PORT', code: string | undefined) {
    super(`Cannot listen on ${host}, port ${port} (${code}). ${cureOf(code, setting)}`)
  }
}

function cureOf(code: string | undefined, setting: string): string {
  if (code === 'EADDRINUSE') return `Another process listens there. Stop it or set ${setting}.`
  if (code === 'EMFILE') return 'This process may open too few files. Raise its limit (LimitNOFILE, ulimit -n).'
  return `Check SVC_HOST and ${setting}.`
}

/** How long the server waits for its clients, in milliseconds (Node's documentation, `http.createServer`). */
export type ServerTimeouts = Required<
  Pick<ServerOptions, 'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval' | 'keepAliveTimeout'>
> & {
  /** How long a client may read nothing of an answer that has been written completely. */
  readonly writeTimeout: number
  /** How long open connections without a request are kept after the listener was closed. */
  readonly stopLinger: number
}

export const SERVER_TIMEOUTS: ServerTimeouts = {
  // The time for the headers and for the whole request. Both are checked every `connectionsCheckingInterval`.
  headersTimeout: 20_000,
  requestTimeout: 300_000,
  connectionsCheckingInterval: 30_000,
  keepAliveTimeout: 75_000,
  writeTimeout: 30_000,
  stopLinger: 1000,
}

/**
 * The length of the queue of new connections. Node's default of 511 refuses some when all agents of a team start at
 * once.
 */
const BACKLOG = 4096

/** Listens and resolves with the port. Rejects with an `AddressError` that names the setting of the port. */
export function listenOn(
  server: Server,
  host: string,
  port: number,
  setting: 'SVC_PORT' | 'SVC_METRICS_PORT',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(new AddressError(host, port, setting, error.code))
    server.once('error', refuse)
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', refuse)
      // A TCP server has an address with a port.
      resolve((server.address() as AddressInfo).port)
    })
  })
}
