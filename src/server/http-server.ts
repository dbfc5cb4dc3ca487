import type { RequestListener, Server, ServerResponse } from 'node:http'
import { Server as NetServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SlotList } from '../kernel/slot-list.ts'
import type { MessageClasses } from '../http/message-classes.ts'
import { createServer } from '../http/node-http.ts'
import type { Logger } from '../log.ts'
import type { ServerTimeouts } from './listener.ts'
import { refuseMalformed } from './malformed-requests.ts'
import { oneAtATime, stopParsingExcess } from './pipelining.ts'

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

/** How long the last answers of `endCalls` may take to reach their callers. */
const LAST_ANSWERS_MS = 1000

const CHECK_INTERVAL_MS = 50

/**
 * How much of an answer waits in a connection before its writer is told to pause. A smaller amount costs no time,
 * because bytes wait only while the buffer of the system is full.
 */
const MAX_UNSENT_BYTES = 16 * 1024

type Options = { readonly messageClasses?: MessageClasses; readonly log?: Logger }

/** Makes the HTTP server of an app, with its timeouts and an orderly stop. It does not listen yet. */
export function openHttpServer(
  app: RequestListener,
  timeouts: ServerTimeouts,
  { messageClasses, log }: Options = {},
): HttpServer {
  const { writeTimeout, stopLinger, ...nodeTimeouts } = timeouts
  const running = new SlotList<ServerResponse>()
  let isDraining = false

  const { handle, hasAnswer } = oneAtATime((req, res) => {
    const slot = running.add(res)
    res.once('close', () => running.remove(slot, res))
    // A write after the end emits an error. Without a listener it would end the process and the calls of all others.
    res.on('error', (err) => log?.error({ err, requestId: res.getHeader('x-request-id') }, 'http.answer_failed'))
    // Node.js itself does not limit how long a client may take to read an answer that has been written completely. It
    // takes the limit away again, but not for a request that has arrived before that answer ended.
    res.once('prefinish', () => req.socket.setTimeout(writeTimeout))
    req.socket.setTimeout(0)
    if (isDraining) res.setHeader('Connection', 'close')
    app(req, res)
  })
  const options = { ...nodeTimeouts, ...messageClasses, highWaterMark: MAX_UNSENT_BYTES }
  // Node.js answers a request without Host, or with an unknown expectation, without a body. The app refuses the first,
  // and the second may be ignored (RFC 9110, section 10.1.1).
  const server = createServer({ ...options, requireHostHeader: false }, handle)
  server.on('checkExpectation', handle)
  server.on('clientError', refuseMalformed(hasAnswer, log))
  stopParsingExcess(server)
  let open = 0
  server.on('connection', (socket) => {
    open += 1
    socket.once('close', () => (open -= 1))
  })

  function drain(): void {
    isDraining = true
    for (const res of running.all()) if (!res.headersSent) res.setHeader('Connection', 'close')
  }

  return {
    server,
    drain,
    async stop(maxMs, endCalls) {
      drain()
      const stoppedAt = performance.now()
      const passedMs = () => performance.now() - stoppedAt
      closeListener(server)
      // Callers with an open connection get `Connection: close` with their next answer. If their connections were
      // closed at once, a request that such a caller is just sending would fail.
      while (open > 0 && passedMs() < maxMs && (running.size > 0 || passedMs() < stopLinger)) {
        await sleep(CHECK_INTERVAL_MS)
      }
      if (running.size > 0) {
        await endCalls()
        const deadline = passedMs() + LAST_ANSWERS_MS
        while (running.size > 0 && passedMs() < deadline) await sleep(CHECK_INTERVAL_MS)
      }
      server.closeAllConnections()
    },
  }
}

/** Closes the listener and leaves the connections open. */
function closeListener(server: Server): void {
  // `http.Server.close` would also close the connections that are idle at this moment.
  NetServer.prototype.close.call(server)
}
