import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { SqlDriverAdapter, SqlDriverAdapterFactory, SqlQueryable } from '@prisma/driver-adapter-utils'
import { SlotList } from '../../kernel/slot-list.ts'
import { threadEnvironment } from '../../kernel/thread-environment.ts'
import { DatabaseCrashError } from '../client.ts'
import type { ThreadCall, ThreadData, ThreadMessage, ThreadMethods } from './database-thread.ts'
import { fromPlainError } from './plain-error.ts'

/** A running thread of an embedded database. */
export type DatabaseThread = {
  /** Calls a method of the thread. Rejects when the thread has ended. */
  call<Name extends keyof ThreadMethods>(
    method: Name,
    ...args: Parameters<ThreadMethods[Name]>
  ): ReturnType<ThreadMethods[Name]>
  /** Calls `onNotice` for each notification of a channel, until the returned function is called. */
  listen(channel: string, onNotice: (payload: string) => void): () => void
  /** Resolves when the thread has ended by itself. */
  readonly crashed: Promise<DatabaseCrashError>
  /** Ends the thread, and calls that are still running with it. */
  end(): Promise<void>
}

type Waiting = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }

/** Starts the thread for the database in a directory; null: in memory. `open` must be the first call. */
export function startDatabaseThread(directory: string | null): DatabaseThread {
  const file = new URL(`./database-thread${extname(import.meta.url)}`, import.meta.url)
  const workerData: ThreadData = { directory }
  const worker = new Worker(file, { workerData, env: threadEnvironment(), resourceLimits: LIMITS })
  const waiting = new SlotList<Waiting>()
  const listeners = new Map<number, (payload: string) => void>()
  let lastSubscription = 0
  const { promise: crashed, resolve: reportCrash } = Promise.withResolvers<DatabaseCrashError>()
  let isEnding = false
  let ended: Error | null = null

  function fail(cause: unknown): void {
    if (ended) return
    const error = (ended = new DatabaseCrashError(CLOSED, { cause }))
    for (const { reject } of waiting.all()) reject(error)
    if (!isEnding) reportCrash(error)
  }
  function settle(id: number): Waiting | null {
    const found = waiting.at(id)
    if (found) waiting.remove(id, found)
    // Between calls, the thread does not keep the process alive.
    if (waiting.size === 0) worker.unref()
    return found
  }
  function call(method: keyof ThreadMethods, ...args: readonly unknown[]): Promise<unknown> {
    if (ended) return Promise.reject(ended)
    return new Promise((resolve, reject) => {
      const message: ThreadCall = { id: waiting.add({ resolve, reject }), method, args }
      worker.ref()
      worker.postMessage(message)
    })
  }

  worker.on('message', (message: ThreadMessage) => {
    if ('subscription' in message) listeners.get(message.subscription)?.(message.payload)
    else if ('error' in message) settle(message.id)?.reject(fromPlainError(message.error))
    else settle(message.id)?.resolve(message.value)
  })
  worker.on('error', fail)
  worker.on('exit', (code) => fail(`The thread has ended with the exit code ${code}.`))

  return {
    // The thread answers each call with the result of its method.
    call: call as DatabaseThread['call'],
    listen(channel, onNotice) {
      const subscription = ++lastSubscription
      listeners.set(subscription, onNotice)
      // When the thread has ended, there is nothing to listen to.
      call('listen', subscription, channel).catch(() => undefined)
      return () => {
        listeners.delete(subscription)
        call('unlisten', subscription).catch(() => undefined)
      }
    },
    crashed,
    async end() {
      isEnding = true
      await worker.terminate()
    },
  }
}

/**
 * By default V8 lets the heap of the thread grow to a multiple of what is in use before it collects garbage, because
 * the heap may have gigabytes. With a smaller limit it collects earlier. Results have at most some megabytes, and the
 * database itself is not on this heap.
 */
const LIMITS = { maxOldGenerationSizeMb: 512 }

const CLOSED = 'PGlite is closed: the thread of the embedded database has ended.'

/** Prisma's adapter for the database of a thread. */
export function makeThreadAdapter({ call }: DatabaseThread): SqlDriverAdapterFactory {
  const names = { provider: 'postgres', adapterName: 'svc-database-thread' } as const
  const queryable = (transaction: number | null): SqlQueryable => ({
    ...names,
    queryRaw: (statement) => call('query', transaction, statement),
    executeRaw: (statement) => call('execute', transaction, statement),
  })
  const adapter: SqlDriverAdapter = {
    ...queryable(null),
    async startTransaction() {
      const transaction = await call('begin')
      return {
        ...queryable(transaction),
        options: { usePhantomQuery: true },
        commit: () => call('commit', transaction),
        rollback: () => call('rollback', transaction),
      }
    },
    executeScript: () => Promise.reject(new Error('The service runs no scripts through Prisma.')),
    getConnectionInfo: () => ({ supportsRelationJoins: true }),
    dispose: () => Promise.resolve(),
  }
  return { ...names, connect: () => Promise.resolve(adapter) }
}
