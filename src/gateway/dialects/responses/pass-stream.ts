import { isObject } from '../../../kernel/json.ts'
import type { PassOptions, StreamState, StreamTranslator } from '../dialect.ts'
import { FAILURES } from '../failures/failure-table.ts'
import { readFailure } from '../failures/failure.ts'
import type { Failure } from '../failures/failure.ts'
import { readCount, readText } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import { passTypedEvents } from '../passing/pass-stream.ts'
import { renameInside } from '../passing/rename-model.ts'
import type { SseEvent } from '../sse/decode.ts'

/**
 * Passes a responses stream of an engine with the service's model id. A failure is always `response.failed`, because
 * agents ignore `error` events.
 */
export function passResponsesStream({ model }: PassOptions): StreamTranslator {
  let response: Json = {}
  let sequence = -1

  const fail = ({ kind, message }: Failure): SseEvent[] => {
    const error = {
      code: kind === 'context' || kind === 'access' ? FAILURES[kind].streamCode : 'server_error',
      message,
    }
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
