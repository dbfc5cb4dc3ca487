import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Listening, OnNotice } from '../client.ts'

/** The pause before a new connection after the last one was lost. */
const RECONNECT_PAUSE_MS = 1000

/** How often the connection is tested: a server that vanished closes nothing. */
const TEST_INTERVAL_MS = 15_000

const ANSWER_TIMEOUT_MS = 5000

/**
 * Listens on a channel of a Postgres server (PostgreSQL, LISTEN) over a connection of its own, because a pool gives its
 * connections to others. A lost connection is replaced. A pooler that shares connections by transaction passes no
 * notifications on, so what must not be missed has to be read from time to time as well.
 */
export function listenOnPostgres(readOptions: () => pg.ClientConfig, channel: string, onNotice: OnNotice): Listening {
  const closing = new AbortController()
  let isConnected = false

  async function listenUntilLost(): Promise<void> {
    const client = new pg.Client({ ...readOptions(), query_timeout: ANSWER_TIMEOUT_MS })
    const { promise: lost, resolve } = Promise.withResolvers<null>()
    const end = () => resolve(null)
    client.on('error', end).on('end', end)
    client.on('notification', ({ payload = '' }) => onNotice(payload))
    closing.signal.addEventListener('abort', end)
    const testing = setInterval(() => void client.query('SELECT 1').catch(end), TEST_INTERVAL_MS).unref()
    try {
      await client.connect()
      await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`)
      isConnected = true
      onNotice(null)
      await lost
    } catch {
      // The next attempt follows.
    } finally {
      isConnected = false
      clearInterval(testing)
      closing.signal.removeEventListener('abort', end)
      client.end().catch(() => undefined)
    }
  }

  async function listen(): Promise<void> {
    while (!closing.signal.aborted) {
      await listenUntilLost()
      await sleep(RECONNECT_PAUSE_MS, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
    }
  }

  void listen()
  return { isConnected: () => isConnected, close: () => closing.abort() }
}
