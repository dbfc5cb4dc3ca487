import { Socket } from 'node:net'
import type { Server } from 'node:net'
import { isToChild, tellParent } from './child-messages.ts'

/** Closed connections are reported together after this time, or with the next one that is received. */
const REPORT_AFTER_MS = 20

/** Serves the connections that the process above this one accepts. Resolves with their port. */
export function receiveConnections(server: Server): Promise<number> {
  const counts = { received: 0, closed: 0 }
  let timer: NodeJS.Timeout | undefined
  const report = () => {
    clearTimeout(timer)
    timer = undefined
    tellParent({ type: 'connections', ...counts })
  }
  const noteClosed = () => {
    counts.closed += 1
    timer ??= setTimeout(report, REPORT_AFTER_MS).unref()
  }
  return new Promise((resolve) => {
    process.on('message', (message, socket) => {
      if (!isToChild(message)) return
      if (message.type === 'listening') resolve(message.port)
      if (message.type !== 'connection') return
      counts.received += 1
      report()
      // A connection that has broken on the way comes without its socket.
      if (!(socket instanceof Socket)) return noteClosed()
      socket.once('close', noteClosed)
      // As in the connections that an HTTP server accepts by itself.
      socket.allowHalfOpen = true
      server.emit('connection', socket)
    })
    // Node.js begins to check for slow requests with this event, and this server does not listen by itself.
    server.emit('listening')
    tellParent({ type: 'ready' })
  })
}
