import { sseDecoder } from '../../src/gateway/dialects/sse/decode.ts'
import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import { startEngine } from '../support/engine.ts'
import type { TestEngine } from '../support/engine.ts'
import { servedModel, startGateway } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { checkChatStream, checkMessagesStream, checkResponsesStream } from '../support/stream-grammar.ts'
import { weatherModel } from './agent-engine.ts'

export type Serving = AsyncDisposable & {
  readonly gateway: TestGateway
  readonly engine: TestEngine
  /** Back to the model that asks for the weather. */
  reset(): void
}

const UPSTREAM_TOKEN = 'upstream-token'

/**
 * A gateway for a real client, with an engine of the chat style behind it. `local`: the engine is its local worker. `upstream`: the worker of
 * a second gateway, which is the upstream of the first in all three groups, as a vendor would be.
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

/** `fetch` for a client: what is wrong with the grammar of a stream that passes is added to `violations`, once the stream is over. */
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
          // A stream that breaks is the client's to tell.
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
  return sseDecoder().push(new Uint8Array(await response.arrayBuffer()))
}
