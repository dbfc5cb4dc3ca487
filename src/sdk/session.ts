import { checkBaseUrl } from './base-url.ts'
import { errorOf, unexpectedAnswer } from './errors.ts'
import { jsonOf } from './json.ts'
import { keepRequests } from './send.ts'
import type { Send } from './send.ts'
import type { RefreshedTokens } from '#openapi'

/** The tokens of a signed-in device in a store. */
export type StoredTokens = RefreshedTokens

/** The tokens that a JSON value contains; null when it is something else. */
export function toStoredTokens(value: unknown): StoredTokens | null {
  // Cast: the fields that are used are checked.
  const tokens = value as Partial<StoredTokens> | null | undefined
  const isWhole = [tokens?.account, tokens?.accessToken, tokens?.refreshToken].every((it) => typeof it === 'string')
  return isWhole && FITS_HEADER.test(tokens?.accessToken ?? '') ? (tokens as StoredTokens) : null
}

/** What every access token consists of (RFC 6750, section 2.1). `fetch` throws a `TypeError` for other characters. */
const FITS_HEADER = /^[!-~]+$/

/** Stores the tokens of one device. */
export type TokenStore = {
  /** Returns the tokens. Null: the device is not signed in. */
  load(): Promise<StoredTokens | null>
  /** Replaces the tokens. Null removes them. */
  save(tokens: StoredTokens | null): Promise<void>
  /** Runs a task while no other task on the same tokens runs, in this process or in another. */
  exclusively<T>(task: () => Promise<T>): Promise<T>
}

/** Stores the tokens in memory, until the program ends. */
export function memoryTokenStore(tokens: StoredTokens | null = null): TokenStore {
  let held = tokens
  let last: Promise<unknown> = Promise.resolve()
  return {
    load: () => Promise.resolve(held),
    save(next) {
      held = next
      return Promise.resolve()
    },
    exclusively(task) {
      const result = last.then(task)
      last = result.catch(() => {})
      return result
    },
  }
}

export type SessionOptions = {
  /** The base URL of the deployment. */
  readonly baseUrl: string
  readonly tokens: TokenStore
  readonly fetch?: Send | undefined
}

export type Session = {
  /** Returns the stored access token, which may have expired. Null: the device is not signed in. */
  accessToken(): Promise<string | null>
  /**
   * Returns an access token other than the rejected one: the stored one when another caller has refreshed it meanwhile,
   * else a new one, which is stored. When the device is signed out, removes the tokens and returns null. Throws when
   * the service cannot be reached; the tokens stay.
   */
  renew(rejected: string): Promise<string | null>
}

/** The time limit of a refresh. */
const REFRESH_TIMEOUT_MS = 10_000

/**
 * Opens the session of a signed-in device. When many requests find their token rejected at the same time, also in
 * several processes that share the store, there is one refresh: refreshes run one at a time, and later callers find a
 * token other than the rejected one.
 */
export function openSession({ baseUrl, tokens, fetch: send = (request) => fetch(request) }: SessionOptions): Session {
  checkBaseUrl('baseUrl', baseUrl)
  return {
    accessToken: async () => (await tokens.load())?.accessToken ?? null,
    renew: (rejected) =>
      tokens.exclusively(async () => {
        const held = await tokens.load()
        if (held === null || held.accessToken !== rejected) return held?.accessToken ?? null
        // A refresh uses the stored token up, so it is not sent while the store cannot be written.
        await tokens.save(held)
        const next = await refresh(`${baseUrl.replace(/\/$/, '')}/v1/auth/token/refresh`, held, keepRequests(send))
        await tokens.save(next)
        return next?.accessToken ?? null
      }),
  }
}

/** Exchanges the refresh token. Null when the service says that the session is over. */
async function refresh(url: string, { account, refreshToken }: StoredTokens, send: Send): Promise<StoredTokens | null> {
  const ask = async () => {
    const response = await send(
      new Request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ account, refreshToken }),
        redirect: 'error',
        signal: AbortSignal.timeout(REFRESH_TIMEOUT_MS),
      }),
    )
    return { response, body: jsonOf(await response.text()) }
  }
  // When its answer or a part of that is lost, a refresh may be repeated for a short time (operation `refreshTokens`).
  const { response, body } = await ask().catch(ask)
  if (response.ok) {
    const next = toStoredTokens(body)
    if (next === null) throw unexpectedAnswer(response, 'The answer to the token refresh has no tokens.', body)
    return next
  }
  const error = errorOf(response, body)
  if (error.code === 'unauthorized' || error.code === 'expired') return null
  throw error
}
