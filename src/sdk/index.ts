import createFetchClient from 'openapi-fetch'
import type { Client, ClientOptions, Middleware } from 'openapi-fetch'
import type { paths } from '#openapi'

export type * from '#openapi'

/** A client whose paths, parameters, bodies and answers are those of the contract. */
export type SvcClient = Client<paths, 'application/json'>

export type SvcClientOptions = Omit<ClientOptions, 'baseUrl'> & {
  /** The address of the deployment. */
  readonly baseUrl: string
  /** The access token, or a function that gives a fresh one for each request. Without it, only public operations work. */
  readonly accessToken?: string | (() => string | Promise<string>)
}

/** A typed client of a deployment. Answers are `{ data }` or `{ error }` with the contract's bodies. */
export function createClient({ accessToken, ...options }: SvcClientOptions): SvcClient {
  const client = createFetchClient<paths, 'application/json'>(options)
  if (accessToken !== undefined) client.use(bearer(accessToken))
  return client
}

/**
 * The data of each server-sent event of a streamed call (`parseAs: 'stream'`), parsed. Ends at `[DONE]` or with the stream; throws when the
 * connection breaks.
 */
export async function* events<Event = unknown>(stream: ReadableStream<Uint8Array>): AsyncGenerator<Event> {
  const reader = stream.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader()
  let rest = ''
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const blocks = (rest + read.value).split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      for (const data of blocks.map(dataOf)) {
        if (data === '[DONE]') return
        if (data !== '') yield JSON.parse(data) as Event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function bearer(accessToken: string | (() => string | Promise<string>)): Middleware {
  return {
    async onRequest({ request }) {
      const token = typeof accessToken === 'string' ? accessToken : await accessToken()
      request.headers.set('authorization', `Bearer ${token}`)
      return request
    },
  }
}

function dataOf(block: string): string {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice(5).replace(/^ /, '')).join('\n')
}
