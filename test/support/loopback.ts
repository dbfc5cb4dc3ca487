import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import type { Server as HttpServer } from 'node:http'

/** Anything that listens as a server of Node does: an SMTP server, an Express app. */
type Listenable = { listen(port: number, host: string): Server }

/** Listens on a free port of 127.0.0.1, and resolves with the port. */
export async function listenOnLoopback(server: Listenable): Promise<number> {
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  // A server that listens on a TCP port has an address of this type.
  return (listener.address() as AddressInfo).port
}

/** Closes an HTTP server and all its connections. */
export function closeHttpServer(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  const probe = createServer()
  const port = await listenOnLoopback(probe)
  await new Promise((resolve) => probe.close(resolve))
  return port
}
