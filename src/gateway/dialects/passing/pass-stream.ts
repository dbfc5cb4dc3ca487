import type { StreamState, StreamTranslator } from '../dialect.ts'
import { ENDED_EARLY, NOT_JSON, readFailure } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { SseEvent } from '../sse/decode.ts'
import { readTypedData } from '../sse/typed-event.ts'

/** What differs between the dialects whose events have a type. */
export type PassedDialect = {
  /** The state of the answer after an event of this type. */
  readonly stateAfter: (type: string) => StreamState
  readonly show: (event: SseEvent, body: Json) => SseEvent[]
  readonly fail: (failure: Failure) => SseEvent[]
}

/** Passes a stream whose events have a `type`. A stream that ends without its last event ends with a failure. */
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
      const body = readTypedData(event.data)
      if (body === null) return []
      if (body === 'not_json') return failWith(NOT_JSON)
      const type = readText(body.type)
      if (isForeignError(event, body)) return failWith(readFailure(body))
      state = stateAfter(type)
      return show({ event: event.event ?? type, data: event.data }, body)
    },
    end: () => failWith(ENDED_EARLY),
    fail: failWith,
    state: () => state,
  }
}

/**
 * Whether an event is an error in the form of another dialect, which clients would ignore. llama.cpp writes errors of
 * the chat dialect into all streams.
 */
function isForeignError({ event }: SseEvent, { type, error }: Json): boolean {
  return type !== 'error' && (event === 'error' || (type === undefined && error !== undefined))
}
