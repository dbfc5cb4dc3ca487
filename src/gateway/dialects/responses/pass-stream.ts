import type { StreamState, StreamTranslator } from '../dialect.ts'
import { type Failure, readFailure } from '../failure.ts'
import { isObject, type Json, readCount, readText } from '../json/read-json.ts'
import { passTypedEvents } from '../pass-stream.ts'
import { renameInside } from '../rename-model.ts'
import type { SseEvent } from '../sse/decode.ts'

/**
 * A responses stream of an engine that speaks the dialect, under the service's model id. A failure is always
 * `response.failed`: agents ignore `error` events.
 */
export function passResponsesStream({ model }: { readonly model: string }): StreamTranslator {
  let response: Json = {}
  let sequence = -1

  const fail = ({ kind, message }: Failure): SseEvent[] => {
    const error = { code: kind === 'context' ? 'context_length_exceeded' : 'server_error', message }
    const failed = { ...NO_RESPONSE, model, ...response, status: 'failed', error }
    const data = { type: 'response.failed', sequence_number: sequence + 1, response: failed }
    return [{ event: 'response.failed', data: JSON.stringify(data) }]
  }
  return passTypedEvents({
    stateAfter: (type) => STATES.get(type) ?? 'open',
    show(event, body) {
      if (readText(body.type) === 'error') return fail(readFailure(body))
      sequence = readCount(body.sequence_number) ?? sequence + 1
      if (isObject(body.response)) response = { ...body.response, model }
      return [renameInside(event, 'response', model)]
    },
    fail,
  })
}

const STATES: ReadonlyMap<string, StreamState> = new Map([
  ['response.completed', 'ended'],
  ['response.incomplete', 'ended'],
  ['response.failed', 'failed'],
  ['error', 'failed'],
])

const NO_RESPONSE = { id: 'resp_unknown', object: 'response', created_at: 0, output: [], incomplete_details: null }
