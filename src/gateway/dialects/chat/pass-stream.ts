import type { StreamState, StreamTranslator } from '../dialect.ts'
import { renameEvent } from '../rename-model.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readChatEvent } from './chunk.ts'

/**
 * A chat stream under the service's model id. `[DONE]` follows only an answer that gave its reason to finish; every
 * other one ends with an error chunk and without `[DONE]`.
 */
export function passChatStream({ model }: { readonly model: string }): StreamTranslator {
  let state: StreamState = 'open'
  let started = false
  let finished = false

  function failWith(message: string): SseEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return [chatFailure(message)]
  }

  function complete(): SseEvent[] {
    if (state !== 'open') return []
    state = 'ended'
    return [{ event: null, data: '[DONE]' }]
  }

  return {
    push(event) {
      if (state !== 'open') return []
      const read = readChatEvent(event)
      if (read.kind === 'error') return failWith(read.failure.message)
      if (read.kind === 'nothing') return []
      if (read.kind === 'done') return started ? complete() : failWith('The engine ended its answer before it began.')
      started = true
      finished ||= read.finish !== null
      return [renameEvent(event, read.model, model)]
    },
    end: () => (finished ? complete() : failWith('The engine ended its answer too early.')),
    fail: failWith,
    state: () => state,
  }
}

/** The error chunk that ends a chat stream; clients of that dialect throw on its `error` member. */
function chatFailure(message: string): SseEvent {
  const error = { message, type: 'api_error', param: null, code: 'upstream_failed' }
  return { event: null, data: JSON.stringify({ error }) }
}
