import createFetchClient from 'openapi-fetch'
import type { Client, ClientOptions } from 'openapi-fetch'
import type { paths } from '#openapi'
import { errorOf } from './errors.ts'
import { retrying, signed, withToken } from './fetch.ts'
import type { Send } from './fetch.ts'
import { openSession } from './session.ts'
import type { TokenStore } from './session.ts'

/** A client whose paths, parameters, bodies and answers are those of the contract. */
export type SvcClient = Client<paths, 'application/json'>

export type SvcClientOptions = Omit<ClientOptions, 'baseUrl' | 'fetch'> & {
  /** The address of the deployment. */
  readonly baseUrl: string
  /** Where the tokens of the device are; they are refreshed when they have to be. `deviceLogin` fills it. */
  readonly tokens?: TokenStore | undefined
  /** Instead of `tokens`: an access token, or a function that gives a fresh one for each request. */
  readonly accessToken?: string | (() => string | Promise<string>) | undefined
  /** How often a request that is refused for the moment (429 or 503 with `Retry-After`) is sent again; 2 unless given. */
  readonly retries?: number | undefined
  /** The longest wait before one is sent again, in seconds; 60 unless given. A longer one is left to the caller. */
  readonly longestWaitSeconds?: number | undefined
  /** Sends the requests; the runtime's own `fetch` unless given. */
  readonly fetch?: Send | undefined
}

/** A typed client of a deployment. Answers are `{ data }` or `{ error }` with the contract's bodies; `unwrap` makes one of them throw. */
export function createClient({
  baseUrl,
  tokens,
  accessToken,
  retries = 2,
  longestWaitSeconds = 60,
  fetch: send = (request) => fetch(request),
  ...options
}: SvcClientOptions): SvcClient {
  const patient = retrying(send, { retries, longestWaitSeconds })
  const own = () => {
    if (tokens) return signed(patient, openSession({ baseUrl, tokens, fetch: patient }))
    return accessToken === undefined ? patient : withToken(patient, accessToken)
  }
  return createFetchClient<paths, 'application/json'>({ ...options, baseUrl, fetch: own() })
}

type Result<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response }

/** The data of an answer, as in `await unwrap(client.GET('/v1/models'))`; throws an `SvcError` when it is an error. */
export async function unwrap<Data>(result: Promise<Result<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await result
  if (!response.ok || data === undefined || data === null) throw errorOf(response, error)
  return data
}
