import { retryAfterOf } from './errors.ts'
import type { Session } from './session.ts'
import { wait as realWait } from './wait.ts'
import type { Wait } from './wait.ts'

/** What sends a request: `fetch`, or something around it. */
export type Send = (request: Request) => Promise<Response>

type RetryOptions = {
  /** How often a request may be sent again. */
  readonly retries: number
  /** An answer that asks for a longer wait is handed on instead. */
  readonly longestWaitSeconds: number
  readonly wait?: Wait
}

/**
 * Sends again what was refused for the moment: 429 and 503 that say how long to wait (`Retry-After`), unless the answer says that
 * waiting is no cure (`x-should-retry: false`). Nothing else: a call that broke off may have been made.
 */
export function retrying(send: Send, { retries, longestWaitSeconds, wait = realWait }: RetryOptions): Send {
  return async (request) => {
    for (let left = retries; ; left--) {
      const response = await send(left > 0 ? request.clone() : request)
      const seconds = left > 0 ? cureSeconds(response) : null
      if (seconds === null || seconds > longestWaitSeconds) return response
      await response.body?.cancel()
      await wait(seconds, request.signal)
    }
  }
}

/** After how many seconds the same request can work; null when the answer does not promise that. */
function cureSeconds(response: Response): number | null {
  const isBusy = response.status === 429 || response.status === 503
  return isBusy && response.headers.get('x-should-retry') !== 'false' ? retryAfterOf(response) : null
}

/** Adds the access token of a session, and refreshes it once when it is refused. */
export function signed(send: Send, session: Session): Send {
  return async (request) => {
    const token = await session.accessToken()
    if (token === null) return send(request)
    const first = withBearer(request.clone(), token)
    const response = await send(first)
    if (response.status !== 401 || isScopedByItsBody(request)) return response
    const next = await session.renew(token)
    if (next === null) return response
    await response.body?.cancel()
    return send(withBearer(request, next))
  }
}

/** Adds a token that somebody else looks after. */
export function withToken(send: Send, accessToken: string | (() => string | Promise<string>)): Send {
  return async (request) =>
    send(withBearer(request, typeof accessToken === 'string' ? accessToken : await accessToken()))
}

function withBearer(request: Request, token: string): Request {
  request.headers.set('authorization', `Bearer ${token}`)
  return request
}

/** There, 401 is about the code or token in the body, and a fresh access token changes nothing. */
function isScopedByItsBody({ url }: Request): boolean {
  return /\/v1\/auth\/(device|login|magic|token|passkeys\/login)\//.test(new URL(url).pathname)
}
