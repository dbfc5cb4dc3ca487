import { makeSseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { servedModel } from '../support/served-models.ts'
import { checkChatStream, checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import { weatherModel } from './agent-engine.ts'

export type Serving = AsyncDisposable & {
  readonly gateway: TestGateway
  readonly engine: TestEngine
  /** Makes the engine answer as `weatherModel` again. */
  reset(): void
}

const UPSTREAM_TOKEN = 'upstream-token'

/**
 * Starts a gateway for a real client, with an engine that only speaks chat completions. `local`: the engine is the
 * local worker of this gateway. `upstream`: the engine is the local worker of a second gateway, which is the upstream
 * of the first one for all three vendors.
 */
export async function startServing(by: 'local' | 'upstream'): Promise<Serving> {
  const engine = await startEngine()
  const models = [servedModel('svc/fast', { backendModel: 'qwen3:8b' }), servedModel('svc/draft', { certified: false })]
  const behind = await startGateway({ team: { models }, engine: engine.url, token: UPSTREAM_TOKEN })
  const front =
    by === 'local'
      ? await startGateway({ team: { models }, engine: engine.url })
      : await startGateway({
          team: { models },
          vendora: new URL(behind.url),
          vendorb: new URL(`${behind.url}/vendorb`),
          vendorc: new URL(`${behind.url}/codex`),
        })
  const serving: Serving = {
    gateway: front,
    engine,
    reset() {
      engine.chat = weatherModel
      engine.routes = {}
    },
    async [Symbol.asyncDispose]() {
      await front[Symbol.asyncDispose]()
      await behind[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
  serving.reset()
  return serving
}

/**
 * Returns a `fetch` that checks the grammar of each stream when it has ended, and adds what is wrong to `violations`.
 */
export function watchedFetch(violations: string[]): { fetch: typeof fetch; settled: () => Promise<unknown> } {
  const reading: Promise<void>[] = []
  return {
    settled: () => Promise.all(reading),
    async fetch(input, init) {
      const response = await fetch(input, init)
      if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response
      const url = new URL(input instanceof Request ? input.url : input)
      reading.push(
        readAll(response.clone()).then(
          (events) => void violations.push(...checkerOf(url.pathname)(events)),
          // A broken stream is asserted in the test of the client.
          () => {},
        ),
      )
      return response
    },
  }
}

function checkerOf(pathname: string): (events: readonly SseEvent[]) => string[] {
  if (pathname.endsWith('/messages')) return checkMessagesStream
  return pathname.endsWith('/responses') ? checkResponsesStream : checkChatStream
}

async function readAll(response: Response): Promise<SseEvent[]> {
  return makeSseDecoder().push(new Uint8Array(await response.arrayBuffer()))
}
