import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerTimeouts } from './listener.ts'

/** An HTTP server that can be stopped without cutting off its callers. */
export type HttpServer = {
  readonly server: Server
  /** Asks callers to open new connections: from now on every answer carries `Connection: close`. */
  drain(): void
  /**
   * Closes the listener and lets running requests end. After `maxMs` it calls `endCalls`, which ends what is still
   * running, and then closes all connections.
   */
  stop(maxMs: number, endCalls: () => Promise<void>): Promise<void>
}

/**
 * The requests that one connection may send before its first answer has ended (HTTP pipelining). They are served one
 * after the other, and a connection that sends more is closed: otherwise a single packet with a thousand requests,
 * whose answers nobody reads, would occupy the process for seconds. Browsers and HTTP libraries do not pipeline.
 */
const MAX_WAITING_REQUESTS = 16

/** How long the last answers of `endCalls` may take to reach their callers. */
const LAST_ANSWERS_MS = 1000

const CHECK_INTERVAL_MS = 50

export function openHttpServer(app: RequestListener, timeouts: ServerTimeouts): HttpServer {
  const { writeTimeout, stopLinger, ...nodeTimeouts } = timeouts
  const running = new Set<ServerResponse>()
  let isDraining = false

  const server = createServer(
    nodeTimeouts,
    oneAtATime((req, res) => {
      running.add(res)
      res.once('close', () => running.delete(res))
      // An answer that has ended in this process must also be read: Node's own timeouts end before that.
      res.once('prefinish', () => req.socket.setTimeout(writeTimeout))
      if (isDraining) res.setHeader('Connection', 'close')
      app(req, res)
    }),
  )

  function drain(): void {
    isDraining = true
    for (const res of running) if (!res.headersSent) res.setHeader('Connection', 'close')
  }

  return {
    server,
    drain,
    async stop(maxMs, endCalls) {
      drain()
      const stoppedAt = performance.now()
      const passedMs = () => performance.now() - stoppedAt
      const closed = closeListener(server)
      // Callers with an open connection get `Connection: close` with their next answer. When the connection were closed
      // at once, the request that such a caller is sending just then would fail.
      while (passedMs() < maxMs && (running.size > 0 || passedMs() < stopLinger)) {
        if (await Promise.race([closed, sleep(CHECK_INTERVAL_MS, false)])) return
      }
      if (running.size > 0) {
        await endCalls()
        const deadline = passedMs() + LAST_ANSWERS_MS
        while (running.size > 0 && passedMs() < deadline) await sleep(CHECK_INTERVAL_MS)
      }
      server.closeAllConnections()
      await closed
    },
  }
}

/** Closes the listener and leaves the connections open; resolves with true when the last one has ended. */
function closeListener(server: Server): Promise<true> {
  // `http.Server.close` would also close the connections that are idle at this moment.
  return new Promise((resolve) => NetServer.prototype.close.call(server, () => resolve(true)))
}

/** Serves the requests of one connection one after the other. */
function oneAtATime(serve: (req: IncomingMessage, res: ServerResponse) => void): RequestListener {
  const waitingBySocket = new WeakMap<Socket, (() => void)[]>()

  function start(req: IncomingMessage, res: ServerResponse, waiting: (() => void)[]): void {
    const { socket } = req
    res.once('close', () => {
      const next = waiting.shift()
      if (next && !socket.destroyed) next()
      else waitingBySocket.delete(socket)
    })
    serve(req, res)
  }

  return (req, res) => {
    const { socket } = req
    const waiting = waitingBySocket.get(socket)
    if (!waiting) {
      const none: (() => void)[] = []
      waitingBySocket.set(socket, none)
      start(req, res, none)
    } else if (waiting.length < MAX_WAITING_REQUESTS) waiting.push(() => start(req, res, waiting))
    else socket.destroy()
  }
}
