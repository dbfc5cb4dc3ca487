import type { StreamFailure } from '../dialect.ts'
import { encodeEvent } from '../sse/encode.ts'
import { endsLike } from '../passing/stream-monitor.ts'
import type { MonitoredDialect } from '../passing/stream-monitor.ts'

const ENDINGS = ['response.completed', 'response.incomplete', 'response.failed'].map((text) => Buffer.from(text))

const SEQUENCE_NUMBER = Buffer.from('"sequence_number":')

/** What the vendor writes before the sequence number of a last event. */
const LAST_TYPE = /"type"\s*:\s*"response\.(completed|incomplete|failed)"\s*,\s*$/
const MAX_TYPE_BYTES = 64

/** vLLM and Ollama sort the members of an event, so that its type comes last. */
const endsWithLastType = endsLike(/"type"\s*:\s*"response\.(?:completed|incomplete|failed)"\s*\}\s*$/)

/** Remembers id, model and sequence number of a stream's response, so that a failure event can repeat them. */
export function monitorResponse(endsFailed: MonitoredDialect['endsFailed']): MonitoredDialect {
  let id: string | null = null
  let createdAt = 0
  let model = ''
  let sequenceNumber = -1
  /** How the response ended, where the latest event is the last one. Its type is at its beginning. */
  let ending: string | null = null

  function see(chunk: Buffer): void {
    if (id === null) {
      const text = chunk.toString('utf8', 0, 4096)
      id = /"id"\s*:\s*"(\w{1,128})"/.exec(text)?.[1] ?? null
      createdAt = Number(/"created_at"\s*:\s*(\d{1,12})/.exec(text)?.[1] ?? 0)
      model = /"model"\s*:\s*"([^"\\]{1,256})"/.exec(text)?.[1] ?? ''
    }
    const last = findSequenceNumber(chunk)
    if (!last) return
    ending = LAST_TYPE.exec(chunk.toString('latin1', Math.max(0, last.at - MAX_TYPE_BYTES), last.at))?.[1] ?? null
    sequenceNumber = last.number
  }

  /** Clients of this dialect ignore an event named `error`. */
  function failureEvent({ code, message }: StreamFailure): string {
    const response = {
      id: id ?? 'resp_unknown',
      object: 'response',
      created_at: createdAt,
      status: 'failed',
      model,
      error: { code, message },
      incomplete_details: null,
      output: [],
      usage: null,
    }
    const data = { type: 'response.failed', sequence_number: sequenceNumber + 1, response }
    return encodeEvent({ event: 'response.failed', data: JSON.stringify(data) })
  }

  return {
    endings: ENDINGS,
    endsStream: (end) => ending !== null || endsWithLastType(end),
    endsFailed: (end) => (ending === null ? endsFailed(end) : ending === 'failed'),
    failureEvent,
    see,
  }
}

/** The last sequence number in a chunk. The schema of a tool may have a member of this name, which is no number. */
function findSequenceNumber(chunk: Buffer): { readonly at: number; readonly number: number } | null {
  let at = chunk.lastIndexOf(SEQUENCE_NUMBER)
  for (; at !== -1; at = at === 0 ? -1 : chunk.lastIndexOf(SEQUENCE_NUMBER, at - 1)) {
    const from = at + SEQUENCE_NUMBER.length
    const digits = /^\s*(\d{1,9})/.exec(chunk.toString('latin1', from, from + 12))
    if (digits) return { at, number: Number(digits[1]) }
  }
  return null
}
