import { Socket } from 'node:net'
import type { Server } from 'node:net'
import { isToChild, tellParent } from './child-messages.ts'

/** Serves the connections that the process above this one accepts. Resolves with their port. */
export function receiveConnections(server: Server): Promise<number> {
  const counts = { received: 0, closed: 0 }
  let isReportDue = false
  /** Reports once what changes in one turn of the event loop. */
  const count = (what: keyof typeof counts) => {
    counts[what] += 1
    if (isReportDue) return
    isReportDue = true
    setImmediate(() => {
      isReportDue = false
      tellParent({ type: 'connections', ...counts })
    })
  }
  let hasSocket = false
  function serve(socket: Socket): void {
    hasSocket = true
    socket.once('close', () => count('closed'))
    // As in the connections that an HTTP server accepts by itself.
    socket.allowHalfOpen = true
    server.emit('connection', socket)
  }
  /** A connection whose socket did not arrive counts as closed. The process above closes it once it is confirmed. */
  function confirm(): void {
    count('received')
    if (!hasSocket) count('closed')
    hasSocket = false
  }
  return new Promise((resolve) => {
    process.on('message', (message, socket) => {
      if (!isToChild(message)) return
      if (message.type === 'listening') resolve(message.port)
      if (message.type === 'connection' && socket instanceof Socket) serve(socket)
      if (message.type === 'connection_sent') confirm()
    })
    // Node.js begins to check for slow requests with this event, and this server does not listen by itself.
    server.emit('listening')
    tellParent({ type: 'ready' })
  })
}
