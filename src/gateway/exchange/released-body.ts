import type { Dispatcher } from 'undici'
import type { BackendRequest } from './send.ts'

/** A smaller body is sent as it is. It takes little memory, and as an iterable, one of 200 KB takes more CPU time. */
const MIN_RELEASED_BYTES = 256 * 1024

/**
 * The request as the HTTP client gets it. The client keeps the body until the answer ends, and answers may take
 * minutes. A large body is therefore handed over as an iterable, which is empty once it was read.
 */
export function withReleasedBody(request: BackendRequest): Dispatcher.DispatchOptions {
  const { body, headers } = request
  if (!body || body.length < MIN_RELEASED_BYTES) return request
  const left = [body]
  const released: Iterable<Buffer> = {
    *[Symbol.iterator]() {
      yield* left.splice(0)
    },
  }
  return {
    ...request,
    headers: [...headers, 'content-length', String(body.length)],
    // Cast: the client takes iterables, as its documentation says. Its types do not.
    body: released as unknown as Buffer,
  }
}
