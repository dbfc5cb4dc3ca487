import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'
import { listenOnLoopback } from '../loopback.ts'

/** One client connection and its connection to a target. */
export type ProxiedConnection = {
  /** Closes both sides at once. */
  cut(): void
}

type Options = {
  /** Delays the bytes of each direction by this many milliseconds; a round trip takes twice as long. */
  readonly delayMs?: number
  /** Called with the bytes of a direction before they are forwarded; returns whether to forward them. */
  readonly inspect?: (from: 'client' | 'target', bytes: Buffer, connection: ProxiedConnection) => boolean
}

/** A TCP proxy on loopback that spreads connections over targets, as nginx does with its `stream` module. */
export type TcpProxy = AsyncDisposable & {
  readonly port: number
  /** `http://127.0.0.1:PORT` */
  readonly origin: string
  /** Delays the bytes of each direction from now on. */
  delayMs: number
  /** Forwards nothing until `thaw`; connections stay open. */
  freeze(): void
  thaw(): void
  /** Closes all connections. */
  cutAll(): void
  /** The number of open client connections. */
  connections(): number
}

/**
 * Starts a proxy that sends each new connection to the next of these ports of 127.0.0.1. When a target refuses a
 * connection, the proxy tries the others and closes the client connection only when all have refused.
 */
export async function startTcpProxy(
  targets: readonly number[],
  { delayMs = 0, inspect = () => true }: Options = {},
): Promise<TcpProxy> {
  const clients = new Set<Socket>()
  const state = { delayMs, frozen: false, next: 0 }
  const waiting: (() => void)[] = []

  const server = createServer({ noDelay: true }, (client) => {
    clients.add(client)
    client.on('error', () => client.destroy())
    client.on('close', () => clients.delete(client))
    // Until a target has accepted.
    client.pause()
    const first = state.next++
    connectToOne(targets.map((_, index) => targets[(first + index) % targets.length] ?? 0)).then(
      (target) => join(client, target),
      () => client.destroy(),
    )
  })

  function join(client: Socket, target: Socket): void {
    const connection = {
      cut() {
        client.destroy()
        target.destroy()
      },
    }
    forward(client, target, 'client', connection)
    forward(target, client, 'target', connection)
    if (client.destroyed) target.destroy()
    client.resume()
  }

  function forward(from: Socket, to: Socket, name: 'client' | 'target', connection: ProxiedConnection): void {
    const later = (run: () => void) => {
      if (state.frozen) waiting.push(run)
      else if (state.delayMs > 0) setTimeout(run, state.delayMs)
      else run()
    }
    from.on('data', (bytes: Buffer) => {
      if (inspect(name, bytes, connection)) later(() => void to.write(bytes))
    })
    from.on('end', () => later(() => void to.end()))
    from.on('error', () => to.destroy())
    from.on('close', () => later(() => void to.destroy()))
  }

  const port = await listenOnLoopback(server)
  const cutAll = () => clients.forEach((client) => client.resetAndDestroy())
  return Object.assign(state, {
    port,
    origin: `http://127.0.0.1:${port}`,
    freeze: () => void (state.frozen = true),
    thaw() {
      state.frozen = false
      for (const run of waiting.splice(0)) run()
    },
    cutAll,
    connections: () => clients.size,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((closed) => {
        cutAll()
        server.close(() => closed())
      }),
  })
}

/** The first connection that one of these ports accepts, tried in order. */
async function connectToOne([port, ...others]: readonly number[]): Promise<Socket> {
  if (port === undefined) throw new Error('No target of the proxy accepts connections.')
  return connectTo(port).catch(() => connectToOne(others))
}

function connectTo(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
