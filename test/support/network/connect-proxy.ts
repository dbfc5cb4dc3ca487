import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { listenOnLoopback } from '../loopback.ts'

/** An HTTP proxy on loopback that opens tunnels (CONNECT). */
export type ConnectProxy = AsyncDisposable & {
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** The tunnels that were asked for, in their order. */
  readonly requests: readonly { readonly target: string; readonly authorization: string | undefined }[]
}

/** Starts a proxy. `status` is its answer to each CONNECT; null: it never answers. `endless`: its answer never ends. */
export async function startConnectProxy(status: number | 'endless' | null = 200): Promise<ConnectProxy> {
  const requests: { target: string; authorization: string | undefined }[] = []
  const open = new Set<Duplex>()
  const server = createServer()
  server.on('connect', ({ url = '', headers }: IncomingMessage, client: Duplex) => {
    requests.push({ target: url, authorization: headers['proxy-authorization'] })
    open.add(client.on('error', () => client.destroy()))
    if (status === 200) tunnel(client, new URL(`https://${url}`))
    else if (status === 'endless') writeEndlessHead(client)
    else if (status !== null) client.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`)
  })
  const origin = `http://127.0.0.1:${await listenOnLoopback(server)}`
  return {
    origin,
    requests,
    async [Symbol.asyncDispose]() {
      open.forEach((client) => client.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function writeEndlessHead(client: Duplex): void {
  client.write('HTTP/1.1 200 Connection Established\r\nVia: ')
  const timer = setInterval(() => client.write('a'), 100)
  client.on('close', () => void clearInterval(timer))
}

function tunnel(client: Duplex, { hostname, port }: URL): void {
  const socket = connect(Number(port || 443), hostname, () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
    client.pipe(socket).pipe(client)
  })
  socket.on('error', () => {}).on('close', () => client.destroy())
  client.on('close', () => socket.destroy())
}
