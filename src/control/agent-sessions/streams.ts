import type { Response } from 'express'
import { ApiError } from '../../http/errors.ts'
import type { AgentSession } from '../../kernel/agent-session.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { FollowerAccess, AccessWatch } from './access.ts'
import type { SessionReader } from './reader.ts'
import { toHeartbeat, toSessionEvent } from './rules.ts'
import type { StreamFormat, StoredEvent } from './rules.ts'

type Needs = {
  readonly reader: Pick<SessionReader, 'follow'>
  readonly access: Pick<AccessWatch, 'watch'>
  readonly clock: Clock
}

type Wanted = {
  readonly session: AgentSession
  /** Only events with greater ids. */
  readonly after: bigint
  readonly format: StreamFormat
  readonly access: FollowerAccess
}

export type SessionStreams = {
  /**
   * Answers with the events of a session until either side ends. Throws when the account follows too many. Does nothing
   * when the caller has left.
   */
  open(res: Response, wanted: Wanted): void
  /** Ends all streams, and refuses new ones: the process stops. */
  endAll(): void
}

/** One timer serves all streams. The other times are counted in its ticks. */
const TICK_MS = 5000
const HEARTBEAT_TICKS = 3
/** A caller that has not read what was written for this long is disconnected. */
const MAX_UNREAD_TICKS = 6
/** Then the client comes back with a fresh credential: a stream must not outlive its access token for long. */
const MAX_TICKS = 720

/** Each process counts its own streams. */
const MAX_STREAMS_OF_ACCOUNT = 32

const RETRY_AFTER_SECONDS = 5

type OpenStream = { tick(): void; end(): void }

/** The open streams of this process. */
export function makeSessionStreams(needs: Needs): SessionStreams {
  const streams = new Set<OpenStream>()
  const counts = new Map<string, number>()
  let timer: NodeJS.Timeout | null = null
  let isStopping = false

  function add(stream: OpenStream, accountId: string): void {
    streams.add(stream)
    counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
    timer ??= setInterval(() => streams.forEach((one) => one.tick()), TICK_MS).unref()
  }

  function remove(stream: OpenStream, accountId: string): void {
    streams.delete(stream)
    const count = (counts.get(accountId) ?? 0) - 1
    if (count > 0) counts.set(accountId, count)
    else counts.delete(accountId)
    if (streams.size > 0 || !timer) return
    clearInterval(timer)
    timer = null
  }

  return {
    open(res, wanted) {
      const { accountId } = wanted.access
      // The caller left while its access was checked. Its answer emits no further `close` to remove the stream.
      if (res.destroyed || res.closed) return
      if (isStopping) throw new ApiError('service_unavailable', { message: 'This process is stopping. Connect again.' })
      if ((counts.get(accountId) ?? 0) >= MAX_STREAMS_OF_ACCOUNT) throw tooMany()
      const stream = openStream(needs, res, wanted)
      add(stream, accountId)
      res.once('close', () => remove(stream, accountId))
    },
    endAll() {
      isStopping = true
      for (const stream of streams) stream.end()
    },
  }
}

function tooMany(): ApiError {
  return new ApiError('rate_limited', {
    message: `Your account follows ${MAX_STREAMS_OF_ACCOUNT} sessions, which is the limit. End one, or try again.`,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  })
}

/** Begins an answer that goes on until it is ended or the caller leaves. */
function openStream({ reader, access, clock }: Needs, res: Response, wanted: Wanted): OpenStream {
  const { session, after, format } = wanted
  let position = after
  let isCurrent = false
  let ticks = 0
  let silentTicks = 0
  let unreadTicks = 0

  res.status(200).set({ ...HEADERS, 'Content-Type': `${format.mediaType}; charset=utf-8` })
  res.flushHeaders()
  if (format.head) res.write(format.head)

  /** Returns false when the caller has to read first. */
  function write(text: string): boolean {
    silentTicks = 0
    return res.write(text)
  }

  function take(events: readonly StoredEvent[], isAll: boolean): boolean {
    position = events.at(-1)?.id ?? position
    const texts = events.map((event) => format.writeEvent(toSessionEvent(event)))
    if (isAll && !isCurrent) {
      isCurrent = true
      texts.push(format.writeEvent(toHeartbeat(position, clock.now())))
    }
    return texts.length === 0 || write(texts.join(''))
  }

  /** Ends the answer. It is closed when the caller has read what was written. Until then nothing may be written. */
  function end(): void {
    stop()
    res.end()
  }

  function stop(): void {
    following.stop()
    stopWatching()
  }

  const following = reader.follow({ session, after, take })
  const stopWatching = access.watch(wanted.access, end)
  res.on('drain', () => {
    unreadTicks = 0
    following.resume()
  })
  res.once('close', stop)
  return {
    end,
    tick() {
      if (res.writableEnded) return
      ticks += 1
      silentTicks += 1
      if (res.writableNeedDrain && ++unreadTicks >= MAX_UNREAD_TICKS) res.destroy()
      else if (ticks >= MAX_TICKS) end()
      else if (silentTicks >= HEARTBEAT_TICKS && !res.writableNeedDrain)
        write(format.writeEvent(toHeartbeat(position, clock.now())))
    },
  }
}

const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  // nginx buffers answers unless it is told not to.
  'X-Accel-Buffering': 'no',
}
