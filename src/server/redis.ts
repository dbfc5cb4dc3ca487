import { Redis, ReplyError } from 'ioredis'
import type { Command } from 'ioredis'
import { messageOrCode } from '../kernel/error-code.ts'
import type { Secret } from '../kernel/secret.ts'
import type { Logger } from '../log.ts'

/** How long one command may take. Limits are counted before calls, which must not wait longer than 100 ms in all. */
export const COMMAND_TIMEOUT_MS = 75

/** The pause between two attempts to find the server that took the place of one that refuses writes. */
const RECONNECT_PAUSE_MS = 5000

/** Why the connection was closed, where no error says it. */
const NO_ANSWER = 'no answer'

/**
 * Opens the connection to Redis. Commands fail at once while it is unavailable, and then limits count in this process.
 * A server that stops answering without closing the connection counts as unavailable after the first command that it
 * does not answer, until its ready check succeeds again. A server that has become a replica keeps its connections and
 * refuses writes, so the connection is then made anew: the address may lead to another server by now.
 */
export function openRedis(url: Secret, log: Logger): Redis {
  const redis = new DisconnectingRedis(url.reveal(), {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
    connectTimeout: 2000,
    reconnectOnError: ({ message }) => !message.startsWith('NOSCRIPT') && reportRefusal(message),
  })
  const state = { isRefusing: false, reason: NO_ANSWER, isAnswer: false, nextReconnectAt: 0 }
  /** The reason that was logged since Redis answered last; null: it answers. */
  let logged: string | null = null

  /** Returns whether to make the connection anew. */
  function reportRefusal(reason: string): boolean {
    // Logged once for a connection, not for each command.
    if (!state.isRefusing) log.warn({ reason }, 'redis.refused')
    state.isRefusing = true
    // Before version 7, the error of a script contains that of its command.
    if (!/\bREADONLY\b/.test(reason) || performance.now() < state.nextReconnectAt) return false
    Object.assign(state, { reason, isAnswer: true, nextReconnectAt: performance.now() + RECONNECT_PAUSE_MS })
    return true
  }

  // Without a listener, the event would end the process.
  redis.on('error', (error) => {
    const isAnswer = error instanceof ReplyError
    // What the server answered says more than the errors that follow, such as that the connection is closed.
    if (isAnswer || !state.isAnswer) Object.assign(state, { reason: messageOrCode(error) ?? NO_ANSWER, isAnswer })
    // Otherwise the commands that follow would be sent to database 0.
    if (isRefusedSelect(error)) redis.disconnect(true)
  })
  redis.on('reconnecting', () => {
    // Logged once, not at each attempt, and again when the server says why it refuses the connection.
    if (logged !== null && (!state.isAnswer || state.reason === logged)) return
    log.warn({ reason: state.reason }, 'redis.disconnected')
    logged = state.reason
  })
  redis.on('ready', () => {
    log.info({}, 'redis.connected')
    logged = null
    Object.assign(state, { isRefusing: false, reason: NO_ANSWER, isAnswer: false })
  })
  return redis
}

/** Whether the server refused the number of the database, which the client would ignore. */
function isRefusedSelect(error: Error): boolean {
  const { command } = error as Error & { readonly command?: { readonly name: string } }
  return command?.name === 'select'
}

/**
 * A client that gives its connection up when a command is not answered in time. The timeout of ioredis would keep using
 * the connection, and counts the time in which this process was busy as silence of the server.
 */
class DisconnectingRedis extends Redis {
  override sendCommand(...given: Parameters<Redis['sendCommand']>): unknown {
    const [command]: [Command, ...unknown[]] = given
    const giveUp = () => {
      command.reject(new Error('Command timed out'))
      if (this.status === 'ready') this.disconnect(true)
    }
    let immediate: NodeJS.Immediate | undefined
    // An answer that came while this process was busy is read between the timer and the immediate.
    const timer = setTimeout(() => (immediate = setImmediate(giveUp)), COMMAND_TIMEOUT_MS)
    const settled = () => {
      clearTimeout(timer)
      clearImmediate(immediate)
    }
    command.promise.then(settled, settled)
    return super.sendCommand(...given)
  }
}
