import dns from 'node:dns'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import type { Server as HttpServer } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import { vi } from 'vitest'

/** Anything that listens as a server of Node does: an SMTP server, an Express app. */
type Listenable = { listen(port: number, host: string): Server }

/** Listens on a free port of 127.0.0.1, and resolves with the port. */
export async function listenOnLoopback(server: Listenable): Promise<number> {
  const listener = server.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  // A server that listens on a TCP port has an address of this type.
  return (listener.address() as AddressInfo).port
}

/** Whether a port of 127.0.0.1 takes connections. */
export function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Closes an HTTP server and all its connections. */
export function closeHttpServer(server: HttpServer | TlsServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/**
 * Ports for `freePort` begin here and end below the range from which the kernel takes the ports of outgoing connections
 * (32768 to 60999 on Linux): a connection of another test would otherwise take the port before its server listens.
 */
const FIRST_PORT = 10_000
const PORTS_OF_A_WORKER = 2_000
const firstPortOfWorker = FIRST_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % 10) * PORTS_OF_A_WORKER
let nextOffset = process.pid % PORTS_OF_A_WORKER

/** A port on which nothing listens. No two calls return the same, unless a process has asked for thousands. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = firstPortOfWorker + nextOffset
    nextOffset = (nextOffset + 1) % PORTS_OF_A_WORKER
    if (await isFree(port)) return port
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  const isListening = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => resolve(true))
  })
  if (isListening) await new Promise((resolve) => probe.close(resolve))
  return isListening
}

/** Has every host name mean these addresses, until the mocks of the test are restored. */
export function lookUpAs(...addresses: readonly string[]): void {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  // The overloads of `dns.lookup` cannot be written here. Connections ask for all addresses.
  const lookup = (_host: string, _options: object, callback: (error: null, found: object[]) => void) =>
    callback(null, found)
  vi.spyOn(dns, 'lookup').mockImplementation(lookup as typeof dns.lookup)
}
