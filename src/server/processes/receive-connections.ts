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
  return new Promise((resolve) => {
    process.on('message', (message, socket) => {
      if (!isToChild(message)) return
      if (message.type === 'listening') resolve(message.port)
      if (message.type !== 'connection') return
      count('received')
      // A connection that has broken on the way comes without its socket.
      if (!(socket instanceof Socket)) return count('closed')
      socket.once('close', () => count('closed'))
      // As in the connections that an HTTP server accepts by itself.
      socket.allowHalfOpen = true
      server.emit('connection', socket)
    })
    // Node.js begins to check for slow requests with this event, and this server does not listen by itself.
    server.emit('listening')
    tellParent({ type: 'ready' })
  })
}
