import type { StreamState, StreamTranslator } from './dialect.ts'
import { backendFailed, type Failure, readFailure } from './failure.ts'
import { type Json, parseObject, readText } from './json/read-json.ts'
import type { SseEvent } from './sse/decode.ts'

export type PassedDialect = {
  /** The state of the answer after an event of this type. */
  readonly stateAfter: (type: string) => StreamState
  readonly show: (event: SseEvent, body: Json) => SseEvent[]
  readonly fail: (failure: Failure) => SseEvent[]
}

/** A stream whose events have a `type` each, passed on; one that ends without its last event ends as a failure. */
export function passTypedEvents({ stateAfter, show, fail }: PassedDialect): StreamTranslator {
  let state: StreamState = 'open'

  function failWith(failure: Failure): SseEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return fail(failure)
  }

  return {
    push(event) {
      if (state !== 'open') return []
      const body = parseObject(event.data)
      // Some engines close every stream with `[DONE]`, which these dialects do not know.
      if (!body) {
        const isDone = event.data.trim() === '[DONE]'
        return isDone ? [] : failWith(backendFailed('The engine sent an event that is not JSON.'))
      }
      const type = readText(body.type)
      if (isForeignError(event, body)) return failWith(readFailure(body))
      state = stateAfter(type)
      return show({ event: event.event ?? type, data: event.data }, body)
    },
    end: () => failWith(backendFailed('The engine ended its answer too early.')),
    fail: (message) => failWith(backendFailed(message)),
    state: () => state,
  }
}

/**
 * An error in a shape that the dialect does not know, so that its clients would not see it: llama.cpp writes the chat
 * dialect's.
 */
function isForeignError({ event }: SseEvent, { type, error }: Json): boolean {
  return type !== 'error' && (event === 'error' || (type === undefined && error !== undefined))
}
