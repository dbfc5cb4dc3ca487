import type { SessionEvent } from '#openapi'
import type { SvcClient } from './client.ts'
import { errorOf, StreamError, SvcError } from './errors.ts'
import { lines, parseEvent } from './events.ts'
import type { StreamOptions } from './events.ts'
import { isSendError } from './send.ts'
import { wait as realWait } from './wait.ts'
import type { Wait } from './wait.ts'

export type FollowedSession = {
  readonly sessionId: string
  /** `@organization/name`. */
  readonly team: string
  /** The account whose session it is. Default: the account of the client. */
  readonly account?: string | undefined
  /** Only events behind the event with this id. */
  readonly after?: string | undefined
}

export type FollowOptions = StreamOptions & {
  /** Waits between two connections. Default: a timer. */
  readonly wait?: Wait | undefined
}

const RETRY_SECONDS = { first: 1, longest: 15 }

/**
 * Yields the events of an agent's session: first the stored ones, then each new one as it happens. When the connection
 * ends or breaks, it connects again and continues behind the last event, until the caller leaves the loop. Throws when
 * the first connection fails, an `SvcError` when the deployment refuses for good, and each error of the token store or
 * the `accessToken` function.
 */
export async function* followAgentSession(
  client: SvcClient,
  { sessionId, team, account, after: start = '0' }: FollowedSession,
  { signal, wait = realWait }: FollowOptions = {},
): AsyncGenerator<SessionEvent> {
  let after = start
  let seconds = 0
  for (;;) {
    let isOpen = false
    try {
      const query = { team, after, ...(account !== undefined && { account }) }
      const params = { path: { sessionId }, query }
      const request = { params, parseAs: 'stream', signal: signal ?? null } as const
      const { data, error, response } = await client.GET('/v1/sessions/{sessionId}/stream', request)
      if (!response.ok) throw errorOf(response, error)
      isOpen = true
      seconds = RETRY_SECONDS.first
      // With `parseAs: 'stream'` the data is the body of the answer.
      for await (const line of lines(data as unknown as ReadableStream<Uint8Array>, signal)) {
        const event = parseEvent(line, response) as SessionEvent
        after = event.id
        seconds = RETRY_SECONDS.first
        if (event.type !== 'heartbeat') yield event
      }
    } catch (error) {
      if (seconds === 0 || signal?.aborted || isFinal(error, isOpen)) throw error
      seconds = Math.min(seconds * 2, RETRY_SECONDS.longest)
    }
    await wait(seconds, signal)
  }
}

/** Whether connecting again cannot help: not after a refusal, nor after an error of the program itself. */
function isFinal(error: unknown, isOpen: boolean): boolean {
  if (!(error instanceof SvcError)) return !isOpen && !isSendError(error)
  return error instanceof StreamError || (error.status >= 400 && error.status < 500 && error.status !== 429)
}
