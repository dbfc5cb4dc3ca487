import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { Secret } from '../../src/kernel/secret.ts'

/** When a connection breaks: before the server hears of the COMMIT, or after it has answered, which nobody hears. */
export type Cut = 'before' | 'after'

/** A way to a Postgres server that can break at the worst moment. */
export type CuttingProxy = AsyncDisposable & {
  /** The address of a database, by this way. */
  readonly url: Secret
  /** Cuts the next connection that commits; resolves when it is cut. */
  cutNextCommit(when: Cut): Promise<void>
}

export async function startCuttingProxy(to: Secret): Promise<CuttingProxy> {
  const target = new URL(to.reveal())
  const sockets = new Set<Socket>()
  let next: { readonly when: Cut; readonly done: () => void } | null = null

  const server = createServer((client) => {
    const database = connect(Number(target.port), target.hostname)
    let cut: typeof next = null
    const end = () => {
      client.destroy()
      database.destroy()
    }
    for (const socket of [client, database]) {
      sockets.add(socket.setNoDelay(true))
      socket.on('error', end)
      socket.on('close', () => (sockets.delete(socket), end()))
    }
    client.on('data', (bytes) => {
      if (next && isCommit(bytes)) [cut, next] = [next, null]
      if (cut?.when === 'before') finish(cut)
      else database.write(bytes)
    })
    database.on('data', (bytes) => {
      // Whatever the server says now is its answer to the COMMIT.
      if (cut) finish(cut)
      else client.write(bytes)
    })
    function finish({ done }: { done: () => void }) {
      end()
      done()
    }
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const url = Object.assign(new URL(target), { port: String((server.address() as AddressInfo).port) })
  return {
    url: new Secret(url.href),
    cutNextCommit: (when) => new Promise((done) => (next = { when, done })),
    [Symbol.asyncDispose]: () =>
      new Promise((closed) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => closed())
      }),
  }
}

/** A query message that says COMMIT (PostgreSQL, "Message Formats"); a client waits for its answer, so it comes alone. */
function isCommit(bytes: Buffer): boolean {
  return bytes.toString('latin1').includes('COMMIT')
}
