import type { PassOptions, StreamState, StreamTranslator } from '../dialect.ts'
import { ENDED_EARLY, NOT_BEGUN } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { writeOpenAiError } from '../failures/openai-error.ts'
import { parseObject } from '../json/read-json.ts'
import { renameEvent } from '../passing/rename-model.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readChatEvent, watchFinish } from './chunk.ts'
import { isUsageChunk } from './stream-usage.ts'

/**
 * Passes a chat stream with the service's model id. Only an answer with a finish reason ends with `[DONE]`; any other
 * ends with an error chunk and without `[DONE]`.
 */
export function passChatStream({ model, hidesUsage = false }: PassOptions): StreamTranslator {
  let state: StreamState = 'open'
  let started = false
  const finish = watchFinish()

  function failWith(failure: Failure): SseEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return [chatFailure(failure)]
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
      if (read.kind === 'error') return failWith(read.failure)
      if (read.kind === 'nothing') return []
      if (read.kind === 'done') return started ? complete() : failWith(NOT_BEGUN)
      started = true
      finish.see(read)
      if (hidesUsage && read.usage && isUsageChunk(parseObject(event.data) ?? {})) return []
      return [renameEvent(event, read.model, model)]
    },
    end: () => (finish.reason() === null ? failWith(ENDED_EARLY) : complete()),
    fail: failWith,
    state: () => (state === 'open' && finish.isFinishing() ? 'finishing' : state),
  }
}

/** The error chunk that ends a chat stream. Clients of the dialect throw when a chunk has the member `error`. */
function chatFailure(failure: Failure): SseEvent {
  return { event: null, data: JSON.stringify({ error: writeOpenAiError(failure) }) }
}
