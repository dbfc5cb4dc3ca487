import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** Connections that send one small piece at a time, until they are closed. */
export type SlowClients = Disposable & {
  /** The number of connections that the server has not closed. */
  open(): number
  /** What each connection has received so far. */
  readonly answers: readonly string[]
}

/**
 * Opens connections to a port of this machine and resolves when each has sent its beginning. From then on each sends
 * the text of `next` every `everyMs` milliseconds.
 */
export async function startSlowClients(
  port: number,
  count: number,
  beginning: (index: number) => string,
  { everyMs = 250, next }: { readonly everyMs?: number; readonly next: (index: number) => string },
): Promise<SlowClients> {
  const answers: string[] = Array.from({ length: count }, () => '')
  const sockets = await Promise.all(answers.map((_, index) => begin(port, beginning(index))))
  for (const [index, socket] of sockets.entries())
    socket.on('data', (bytes) => (answers[index] = `${answers[index]}${bytes.toString('latin1')}`))
  const open = () => sockets.filter((socket) => !socket.destroyed)
  const timer = setInterval(() => {
    for (const [index, socket] of sockets.entries()) if (socket.writable) socket.write(next(index))
  }, everyMs)
  return {
    open: () => open().length,
    answers,
    [Symbol.dispose]() {
      clearInterval(timer)
      for (const socket of open()) socket.destroy()
    },
  }
}

function begin(port: number, beginning: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(beginning, () => resolve(socket)))
    // Once it has begun, a reset is what tests expect of the server, and the rejection has no effect.
    socket.on('error', (error) => reject(error))
  })
}
