/**
 * The requests of one connection. Bounds what a client can make the process do by HTTP pipelining: sending further
 * requests before the first is answered. Browsers and HTTP libraries do not pipeline.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** The requests of one connection that may wait until the one before them is answered. */
const MAX_WAITING_REQUESTS = 16

/**
 * Serves the requests of one connection one after the other. Otherwise one packet with a thousand requests, whose
 * answers the sender does not read, would occupy the process for seconds. A connection that sends too many is closed.
 *
 * A connection whose client closes its side before the answer has been written is closed too. Node.js would first send
 * what it has, and a client that has left may never take it. The rest of the answer could not follow in either case.
 */
export function oneAtATime(serve: (req: IncomingMessage, res: ServerResponse) => void): OneAtATime {
  const connections = new WeakMap<Duplex, Connection>()

  function start(req: IncomingMessage, res: ServerResponse, connection: Connection): void {
    const { socket } = req
    connection.answer = res
    res.once('close', () => {
      connection.answer = null
      connection.unread = req.complete ? null : req
      connection.isOver = !socket.writable
      const next = connection.waiting.shift()
      if (next && !connection.isOver) next()
    })
    serve(req, res)
  }

  function handle(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req
    const connection = connections.get(socket) ?? { answer: null, unread: null, isOver: false, waiting: [] }
    if (connection.isOver) return
    if (connection.answer) {
      if (connection.waiting.length < MAX_WAITING_REQUESTS) connection.waiting.push(() => start(req, res, connection))
      else socket.destroy()
      return
    }
    if (!connections.has(socket)) {
      // One entry for each connection. With one for each request, V8 would often replace the table of the map.
      connections.set(socket, connection)
      socket.once('end', () => {
        if (connection.answer?.writableEnded === false) socket.destroy()
      })
    }
    start(req, res, connection)
  }

  function hasAnswer(socket: Duplex): boolean {
    const { answer = null, unread = null } = connections.get(socket) ?? {}
    return answer ? answer.headersSent : unread?.complete === false
  }
  return { handle, hasAnswer }
}

type OneAtATime = {
  readonly handle: RequestListener
  /** Whether what a connection is reading now belongs to a request that has an answer, or a part of one. */
  readonly hasAnswer: (socket: Duplex) => boolean
}

type Connection = {
  /** The answer that is being written; null between two requests. */
  answer: ServerResponse | null
  /** The last request, when it was answered before all of its body had arrived. */
  unread: IncomingMessage | null
  /** An answer has closed the connection, so no further request is served (RFC 9112, section 9.6). */
  isOver: boolean
  readonly waiting: (() => void)[]
}

/**
 * Stops the parser of a connection that `oneAtATime` has closed. Node.js goes on and creates the request and answer
 * objects of everything that was read with the same packet: 1,400 requests cost 30 ms, and ten such connections at once
 * made other callers wait for 300 ms.
 *
 * This uses an internal of Node.js, because its public API cannot stop the parser. Where that internal is missing,
 * connections are closed all the same, only later.
 */
export function stopParsingExcess(server: Server): void {
  server.on('connection', (socket: Socket & { parser?: Partial<Parser> }) => {
    const { parser } = socket
    const handle = parser?.onIncoming
    if (!handle) return
    parser.onIncoming = (req, keepAlive) => (socket.destroyed ? STOP_PARSING : handle(req, keepAlive))
  })
}

/** The part of `HTTPParser` (node:_http_common) that is used: it is called once for each parsed head. */
type Parser = { onIncoming: (req: IncomingMessage, keepAlive: boolean) => number }

/** What `onIncoming` returns for an upgraded connection, whose further bytes are not HTTP. */
const STOP_PARSING = 2
