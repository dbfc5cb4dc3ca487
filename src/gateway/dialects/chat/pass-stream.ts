import type { PassOptions, StreamState, StreamTranslator } from '../dialect.ts'
import { ENDED_EARLY, NOT_BEGUN } from '../failures/failure.ts'
import { parseObject } from '../json/read-json.ts'
import { renameEvent } from '../passing/rename-model.ts'
import type { SseEvent } from '../sse/decode.ts'
import { hasContent, readChatEvent } from './chunk.ts'
import { isUsageChunk } from './stream-usage.ts'

/**
 * Passes a chat stream with the service's model id. Only an answer with a finish reason ends with `[DONE]`; any other
 * ends with an error chunk and without `[DONE]`.
 */
export function passChatStream({ model, hidesUsage = false }: PassOptions): StreamTranslator {
  let state: StreamState = 'open'
  let started = false
  let finished = false
  /** There was content behind a finish reason. */
  let goesOn = false

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
      if (read.kind === 'done') return started ? complete() : failWith(NOT_BEGUN.message)
      started = true
      goesOn ||= finished && hasContent(read.delta)
      finished ||= read.finish !== null
      if (hidesUsage && read.usage && isUsageChunk(parseObject(event.data) ?? {})) return []
      return [renameEvent(event, read.model, model)]
    },
    end: () => (finished ? complete() : failWith(ENDED_EARLY.message)),
    fail: failWith,
    state: () => (state === 'open' && finished && !goesOn ? 'finishing' : state),
  }
}

/** The error chunk that ends a chat stream. Clients of the dialect throw when a chunk has the member `error`. */
function chatFailure(message: string): SseEvent {
  const error = { message, type: 'api_error', param: null, code: 'upstream_failed' }
  return { event: null, data: JSON.stringify({ error }) }
}
