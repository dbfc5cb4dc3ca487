import { Secret } from '../../src/kernel/secret.ts'
import { startTcpProxy } from './tcp-proxy.ts'
import type { ProxiedConnection } from './tcp-proxy.ts'

/**
 * When a connection is cut: before the server receives the COMMIT, or after it has committed and before its answer
 * arrives.
 */
export type Cut = 'before' | 'after'

/** A TCP proxy in front of a Postgres server that can cut a connection at its COMMIT. */
export type CuttingProxy = AsyncDisposable & {
  /** The URL of the database through the proxy. */
  readonly url: Secret
  /** Cuts the next connection that sends a COMMIT; resolves when it is cut. */
  cutNextCommit(when: Cut): Promise<void>
}

export async function startCuttingProxy(to: Secret): Promise<CuttingProxy> {
  const target = new URL(to.reveal())
  let next: { readonly when: Cut; readonly done: () => void } | null = null
  /** The connections that have sent the COMMIT and are cut at its answer. */
  const committing = new Map<ProxiedConnection, () => void>()

  const proxy = await startTcpProxy([Number(target.port)], {
    inspect(from, bytes, connection) {
      // The first bytes after the COMMIT are its answer.
      const cutAfter = from === 'target' ? committing.get(connection) : undefined
      if (cutAfter) return cut(connection, cutAfter)
      if (from === 'target' || !next || !isCommit(bytes)) return true
      const { when, done } = next
      next = null
      if (when === 'before') return cut(connection, done)
      committing.set(connection, done)
      return true
    },
  })
  function cut(connection: ProxiedConnection, done: () => void): false {
    committing.delete(connection)
    connection.cut()
    done()
    return false
  }
  const url = Object.assign(new URL(target), { port: String(proxy.port) })
  return {
    url: new Secret(url.href),
    cutNextCommit: (when) => new Promise((done) => (next = { when, done })),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}

/**
 * Whether these bytes are a query message with COMMIT (PostgreSQL, "Message Formats"). A client waits for its answer,
 * so the message comes alone.
 */
function isCommit(bytes: Buffer): boolean {
  return bytes.toString('latin1').includes('COMMIT')
}
