import { errorOf } from './errors.ts'
import type { Send } from './fetch.ts'
import type { RefreshedTokens } from '#openapi'

/** The tokens of a signed-in device, as a store keeps them. */
export type StoredTokens = RefreshedTokens

/** Where the tokens of one device are kept. */
export type TokenStore = {
  /** The tokens; null: nobody is signed in. */
  load(): Promise<StoredTokens | null>
  /** Replaces the tokens as a whole; null forgets them. */
  save(tokens: StoredTokens | null): Promise<void>
  /** Runs a task while no other task runs on the same tokens, in this process or another. */
  exclusively<T>(task: () => Promise<T>): Promise<T>
}

/** Keeps the tokens while the program runs. */
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
  /** The address of the deployment. */
  readonly baseUrl: string
  readonly tokens: TokenStore
  readonly fetch?: Send | undefined
}

export type Session = {
  /** The access token as it is kept; null: nobody is signed in. */
  accessToken(): Promise<string | null>
  /**
   * An access token other than the refused one: what somebody else has got meanwhile, or else the next pair, which is stored. Null when the
   * device is signed out, and then the tokens are forgotten. Throws when the service cannot be asked; the tokens stay.
   */
  renew(refused: string): Promise<string | null>
}

/** How long an answer may take. */
const TIMEOUT_MS = 10_000

/**
 * The session of a signed-in device. However many requests find their token refused at once, in however many processes that share the
 * store, there is one refresh: it runs alone, and who comes later finds another token than the one that was refused.
 */
export function openSession({ baseUrl, tokens, fetch: send = (request) => fetch(request) }: SessionOptions): Session {
  return {
    accessToken: async () => (await tokens.load())?.accessToken ?? null,
    renew: (refused) =>
      tokens.exclusively(async () => {
        const held = await tokens.load()
        if (held === null || held.accessToken !== refused) return held?.accessToken ?? null
        const next = await refresh(`${baseUrl.replace(/\/$/, '')}/v1/auth/token/refresh`, held, send)
        await tokens.save(next)
        return next?.accessToken ?? null
      }),
  }
}

/** The next tokens; null when the service says that there are none for this one any more. */
async function refresh(url: string, { account, refreshToken }: StoredTokens, send: Send): Promise<StoredTokens | null> {
  const ask = () =>
    send(
      new Request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ account, refreshToken }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      }),
    )
  // An answer may be lost on the way; the contract lets the same client repeat the request for a short while.
  const response = await ask().catch(ask)
  const body: unknown = await response.json().catch(() => null)
  // The contract's body of this status.
  if (response.ok) return body as StoredTokens
  const error = errorOf(response, body)
  if (error.code === 'unauthorized' || error.code === 'expired') return null
  throw error
}
