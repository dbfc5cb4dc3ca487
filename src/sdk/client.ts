import createFetchClient from 'openapi-fetch'
import type { Client, ClientOptions, Middleware } from 'openapi-fetch'
import type { paths } from '#openapi'
import { checkBaseUrl } from './base-url.ts'
import { errorOf, unexpectedAnswer } from './errors.ts'
import { withRetries, withSession, withToken } from './fetch.ts'
import { jsonOf } from './json.ts'
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
  checkBaseUrl('baseUrl', baseUrl)
  checkBaseUrl('controlPlaneUrl', controlPlaneUrl)
  const kept = keepRequests(send)
  const retrying = withRetries(kept, { retries, longestWaitSeconds })
  const authenticated = () => {
    if (tokens) {
      const refreshing = withRetries(kept, refreshRetries({ retries, longestWaitSeconds }))
      return withSession(retrying, openSession({ baseUrl: controlPlaneUrl, tokens, fetch: refreshing }))
    }
    return accessToken === undefined ? retrying : withToken(retrying, accessToken)
  }
  const client = createFetchClient<paths, 'application/json'>({
    // Another address would get the tokens.
    redirect: 'error',
    ...options,
    baseUrl,
    fetch: authenticated(),
  })
  client.use(refusingOthers)
  return client
}

type Retries = { readonly retries: number; readonly longestWaitSeconds: number }

/** A refresh is sent again once and soon: it has a time limit, and all processes with these tokens wait for it. */
function refreshRetries({ retries, longestWaitSeconds }: Retries): Retries {
  return { retries: Math.min(retries, 1), longestWaitSeconds: Math.min(longestWaitSeconds, 5) }
}

/** Throws where JSON or a stream is expected and something else arrives, because parsing it would explain nothing. */
const refusingOthers: Middleware = {
  async onResponse({ request, response, options: { parseAs } }) {
    if (!response.ok || !['json', 'stream'].includes(parseAs)) return
    const type = (response.headers.get('content-type') ?? '').toLowerCase()
    const isPage = type.startsWith('text/html')
    if (!isPage && (parseAs === 'stream' || (await isJson(response.clone())))) return
    await response.body?.cancel()
    const what = isPage ? 'a web page' : 'something else than JSON'
    throw unexpectedAnswer(response, `${new URL(request.url).origin} answered with ${what}.`, null)
  },
}

/** Whether a body is JSON, whatever its content type says. An empty one counts as JSON. */
async function isJson(response: Response): Promise<boolean> {
  return jsonOf((await response.text()) || 'null') !== undefined
}

type Result<Data> = { readonly data?: Data; readonly error?: unknown; readonly response: Response }

/**
 * Returns the data of an answer, as in `await unwrap(client.GET('/v1/models'))`. Throws an `SvcError` when the answer
 * is an error.
 */
export async function unwrap<Data>(result: Promise<Result<Data>>): Promise<NonNullable<Data>> {
  const { data, error, response } = await result
  if (!response.ok) throw errorOf(response, error)
  // No operation answers without content, but a proxy can.
  if (data === undefined || data === null) throw unexpectedAnswer(response, 'The answer has no content.', null)
  return data
}
