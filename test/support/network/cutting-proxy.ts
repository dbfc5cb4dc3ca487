import { Secret } from '../../../src/kernel/secret.ts'
import { startTcpProxy } from './tcp-proxy.ts'
import type { ProxiedConnection } from './tcp-proxy.ts'

/**
 * When a connection is cut: before the server receives the statement that takes effect, or after it took effect and
 * before its answer arrives.
 */
export type Cut = 'before' | 'after'

/** A TCP proxy in front of a Postgres server that can cut a connection at a statement. */
export type CuttingProxy = AsyncDisposable & {
  /** The URL of the database through the proxy. */
  readonly url: Secret
  /** Cuts the next connection that sends this text: `COMMIT`, or a value of a statement. Resolves when it is cut. */
  cutNext(text: string, when: Cut): Promise<void>
}

export async function startCuttingProxy(to: Secret): Promise<CuttingProxy> {
  const target = new URL(to.reveal())
  let next: { readonly text: string; readonly when: Cut; readonly done: () => void } | null = null
  /** The connections that have sent the statement and are cut at its answer. */
  const sent = new Map<ProxiedConnection, () => void>()

  const proxy = await startTcpProxy([Number(target.port)], {
    inspect(from, bytes, connection) {
      // A client waits for each answer, so the statement comes alone, and the first bytes after it are its answer.
      const cutAfter = from === 'target' ? sent.get(connection) : undefined
      if (cutAfter) return cut(connection, cutAfter)
      if (from === 'target' || !next || !bytes.toString('latin1').includes(next.text)) return true
      const { when, done } = next
      next = null
      if (when === 'before') return cut(connection, done)
      sent.set(connection, done)
      return true
    },
  })
  function cut(connection: ProxiedConnection, done: () => void): false {
    sent.delete(connection)
    connection.cut()
    done()
    return false
  }
  const url = Object.assign(new URL(target), { port: String(proxy.port) })
  return {
    url: new Secret(url.href),
    cutNext: (text, when) => new Promise((done) => (next = { text, when, done })),
    [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose](),
  }
}
