import { retryAfterOf } from './errors.ts'
import { copyRequest } from './send.ts'
import type { Send } from './send.ts'
import type { Session } from './session.ts'
import { wait as realWait } from './wait.ts'
import type { Wait } from './wait.ts'

type RetryOptions = {
  /** How often a request is sent again at most. */
  readonly retries: number
  /** An answer that asks for a longer wait is returned to the caller. */
  readonly longestWaitSeconds: number
  readonly wait?: Wait
}

/**
 * Sends a request again after 429 and 503 with `Retry-After`, unless the answer has `x-should-retry: false`. Nothing
 * else is sent again: a request whose connection broke may have been carried out.
 */
export function withRetries(send: Send, { retries, longestWaitSeconds, wait = realWait }: RetryOptions): Send {
  return async (request) => {
    for (let left = retries; ; left--) {
      const response = await send(left > 0 ? copyRequest(request) : request)
      const seconds = left > 0 ? retrySeconds(response) : null
      if (seconds === null || seconds > longestWaitSeconds) return response
      await response.body?.cancel()
      await wait(seconds, request.signal)
    }
  }
}

/** After how many seconds the same request can succeed. Null when it is not to be sent again. */
function retrySeconds(response: Response): number | null {
  const isBusy = response.status === 429 || response.status === 503
  return isBusy && response.headers.get('x-should-retry') !== 'false' ? retryAfterOf(response) : null
}

/** Adds the access token of a session. When the token is rejected, refreshes it and sends the request once more. */
export function withSession(send: Send, session: Session): Send {
  return async (request) => {
    const token = await orAborted(request, session.accessToken())
    if (token === null) return send(request)
    const first = withBearer(copyRequest(request), token)
    const response = await send(first)
    if (response.status !== 401 || checksCredentialInBody(request)) return response
    const next = await orAborted(request, session.renew(token))
    if (next === null) return response
    await response.body?.cancel()
    return send(withBearer(request, next))
  }
}

/** Adds an access token that the caller provides. */
export function withToken(send: Send, accessToken: string | (() => string | Promise<string>)): Send {
  return async (request) => {
    const token = typeof accessToken === 'string' ? accessToken : orAborted(request, accessToken())
    return send(withBearer(request, await token))
  }
}

/** Settles as the promise does, or rejects at once when the request is aborted. */
function orAborted<T>({ signal }: Request, promise: T | Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    Promise.resolve(promise).then(resolve, reject)
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    signal.throwIfAborted()
  })
}

/** White space around a token is left out, such as the line break of a file. */
function withBearer(request: Request, given: string): Request {
  const token = given.trim()
  // The error of `fetch` would show the token.
  if (/[^!-~]/.test(token)) throw new TypeError('The access token has a character that no access token has.')
  request.headers.set('authorization', `Bearer ${token}`)
  return request
}

/** Whether a 401 of this route is about a code or token in the body, so that a new access token changes nothing. */
function checksCredentialInBody({ url }: Request): boolean {
  return /\/v1\/auth\/(device|login|magic|token|passkeys\/login)\//.test(new URL(url).pathname)
}
