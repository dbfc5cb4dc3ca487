import createFetchClient from 'openapi-fetch'
import type { Client, ClientOptions, Middleware } from 'openapi-fetch'
import type { paths } from '#openapi'
import { errorOf, unexpectedAnswer } from './errors.ts'
import { withRetries, withSession, withToken } from './fetch.ts'
import { keepRequests } from './send.ts'
import type { Send } from './send.ts'
import { openSession } from './session.ts'
import type { TokenStore } from './session.ts'

/** A client whose paths, parameters, bodies and answers have the types of the contract. */
export type SvcClient = Client<paths, 'application/json'>

export type SvcClientOptions = Omit<ClientOptions, 'baseUrl' | 'fetch'> & {
  /** The base URL of the deployment. */
  readonly baseUrl: string
  /** Where the tokens are refreshed, when `baseUrl` is a gateway with an address of its own. Default: `baseUrl`. */
  readonly controlPlaneUrl?: string | undefined
  /**
   * The store with the tokens of this device, which `deviceLogin` fills. The client refreshes the tokens when they have
   * expired.
   */
  readonly tokens?: TokenStore | undefined
  /** Instead of `tokens`: an access token, or a function that returns a valid one for each request. */
  readonly accessToken?: string | (() => string | Promise<string>) | undefined
  /** How often a request is sent again after 429 or 503 with `Retry-After`. Default: 2. */
  readonly retries?: number | undefined
  /**
   * The longest `Retry-After` that the client waits for, in seconds. Default: 60. After a longer one the answer is
   * returned.
   */
  readonly longestWaitSeconds?: number | undefined
  /** Sends the requests. Default: the `fetch` of the runtime. */
  readonly fetch?: Send | undefined
}

/**
 * Creates a typed client of a deployment. A call returns `{ data }` or `{ error }` with the bodies of the contract;
 * `unwrap` throws the error.
 */
export function createClient({
  baseUrl,
  controlPlaneUrl = baseUrl,
  tokens,
  accessToken,
  retries = 2,
  longestWaitSeconds = 60,
  fetch: send = (request) => fetch(request),
  ...options
}: SvcClientOptions): SvcClient {
  const retrying = withRetries(keepRequests(send), { retries, longestWaitSeconds })
  const authenticated = () => {
    if (tokens) return withSession(retrying, openSession({ baseUrl: controlPlaneUrl, tokens, fetch: retrying }))
    return accessToken === undefined ? retrying : withToken(retrying, accessToken)
  }
  const client = createFetchClient<paths, 'application/json'>({ ...options, baseUrl, fetch: authenticated() })
  client.use(refusingPages)
  return client
}

/** Throws where JSON or a stream is expected and a web page arrives, because parsing it would explain nothing. */
const refusingPages: Middleware = {
  async onResponse({ request, response, options: { parseAs } }) {
    const isPage = response.headers.get('content-type')?.startsWith('text/html') === true
    if (!response.ok || !isPage || !['json', 'stream'].includes(parseAs)) return
    await response.body?.cancel()
    throw unexpectedAnswer(response, `${new URL(request.url).origin} answered with a web page.`, null)
  },
}

type Result<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response }

/**
 * Returns the data of an answer, as in `await unwrap(client.GET('/v1/models'))`. Throws an `SvcError` when the answer
 * is an error.
 */
export async function unwrap<Data>(result: Promise<Result<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await result
  if (!response.ok || data === undefined || data === null) throw errorOf(response, error)
  return data
}
