import type { Worker as Child } from 'node:cluster'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { listenOn } from '../listener.ts'
import { isFromChild, tell, tellWithConnection } from './child-messages.ts'

/** The port of several processes. The process above them accepts its connections and gives them away. */
export type SharedPort = {
  /** Gives connections to this process too, until it ends, and tells it the port. */
  add(child: Child): void
  /** Accepts no more connections, and resets those that wait. Those that were given away stay open. */
  close(): void
}

/** How long a process may take to confirm a connection before others get those that wait for it. */
const MAX_CONFIRM_MS = 100

/** How long a connection waits while no process takes any: longer than it takes to replace one that has ended. */
const MAX_UNASSIGNED_MS = 30_000

/**
 * Listens on the port and gives each connection to the process that has the fewest. Rejects with an `AddressError`.
 *
 * A connection stays open here until the process has confirmed it. When the process ends before that, it may have read
 * a part of the request, so that no other process can answer it. The client gets a reset then.
 */
export async function openSharedPort(host: string, port: number): Promise<SharedPort> {
  const receivers = new Set<Receiver>()
  /** The connections that were accepted while no process ran, or none confirmed any, with what ends their wait. */
  const unassigned = new Map<Socket, NodeJS.Timeout>()
  // What a paused socket has not read, the next process reads.
  const server = createServer({ pauseOnConnect: true, noDelay: true }, give)
  const openPort = await listenOn(server, host, port, 'SVC_PORT')

  function give(socket: Socket): void {
    const receiver = pickReceiver([...receivers])
    if (receiver) {
      // Behind the others, so that processes with equally many connections take turns.
      receivers.delete(receiver)
      receivers.add(receiver)
      receiver.give(socket)
    } else unassigned.set(socket, setTimeout(reset, MAX_UNASSIGNED_MS, socket))
  }
  function takeUnassigned(socket: Socket): Socket {
    clearTimeout(unassigned.get(socket))
    unassigned.delete(socket)
    return socket
  }
  const reset = (socket: Socket) => takeUnassigned(socket).resetAndDestroy()
  const giveUnassigned = () => [...unassigned.keys()].forEach((socket) => give(takeUnassigned(socket)))
  return {
    add(child) {
      if (child.isDead()) return
      const receiver = new Receiver(child, { giveToAnother: give, onConfirmed: giveUnassigned })
      receivers.add(receiver)
      // Not `disconnect`: Node.js emits none while it waits for a process to confirm a socket.
      child.once('exit', () => {
        receivers.delete(receiver)
        receiver.end()
        giveUnassigned()
      })
      tell(child, { type: 'listening', port: openPort })
      giveUnassigned()
    },
    close() {
      server.close()
      ;[...unassigned.keys()].forEach(reset)
    },
  }
}

type Load = { readonly open: number; readonly isStuck: boolean }

/** The first one with the fewest connections, of those that confirm them; null when there is none. */
export function pickReceiver<Each extends Load>(receivers: readonly Each[]): Each | null {
  const fewest = (best: Each | null, one: Each) => (best === null || one.open < best.open ? one : best)
  return receivers.filter(({ isStuck }) => !isStuck).reduce(fewest, null)
}

type Needs = { giveToAnother(socket: Socket): void; onConfirmed(): void }

/** A process that gets connections, one after the other. */
class Receiver {
  /** Whether it takes too long to confirm a connection. */
  isStuck = false
  readonly #child: Child
  readonly #needs: Needs
  /** The connections that it gets when it has confirmed the one before. */
  readonly #waiting: Socket[] = []
  #unconfirmed: Socket | null = null
  #timer: NodeJS.Timeout | undefined
  #given = 0
  #closed = 0

  constructor(child: Child, needs: Needs) {
    this.#child = child
    this.#needs = needs
    child.on('message', (message: unknown) => {
      if (!isFromChild(message) || message.type !== 'connections') return
      this.#closed = message.closed
      if (this.#unconfirmed && message.received === this.#given) this.#confirm(this.#unconfirmed)
    })
  }

  /** How many of its connections are open, or wait for it. */
  get open(): number {
    return this.#given + this.#waiting.length - this.#closed
  }

  give(socket: Socket): void {
    if (this.#unconfirmed) this.#waiting.push(socket)
    else this.#send(socket)
  }

  /** Leaves the connections that wait for it to other processes. */
  end(): void {
    clearTimeout(this.#timer)
    this.#unconfirmed?.resetAndDestroy()
    this.#leaveWaiting()
  }

  #send(socket: Socket): void {
    this.#given += 1
    this.#unconfirmed = socket
    this.#timer = setTimeout(() => {
      this.isStuck = true
      this.#leaveWaiting()
    }, MAX_CONFIRM_MS)
    tellWithConnection(this.#child, { type: 'connection' }, socket)
    tell(this.#child, { type: 'connection_sent' })
  }

  #confirm(socket: Socket): void {
    clearTimeout(this.#timer)
    socket.destroy()
    this.#unconfirmed = null
    const next = this.#waiting.shift()
    if (next) this.#send(next)
    this.isStuck = false
    this.#needs.onConfirmed()
  }

  #leaveWaiting(): void {
    for (const socket of this.#waiting.splice(0)) this.#needs.giveToAnother(socket)
  }
}
