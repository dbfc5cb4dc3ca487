import { parseObject } from '../json/read-json.ts'
import type { Json } from '../json/read-json.ts'
import type { SseEvent } from './decode.ts'

/**
 * Reads the data of an event of a dialect whose events have a `type`. Null for what these dialects do not have:
 * `[DONE]`, with which some engines end every stream, and no data, with which some proxies keep a stream alive.
 */
export function readTypedData(data: string): Json | 'not_json' | null {
  const body = parseObject(data)
  if (body) return body
  return ['', '[DONE]'].includes(data.trim()) ? null : 'not_json'
}

/**
 * Reads an event in the same way. The name of the event is its type where the data has none. Some servers write the
 * type of an error in the place of the event's.
 */
export function readTypedEvent({ event, data }: SseEvent): Json | 'not_json' | null {
  const body = readTypedData(data)
  if (body === null || body === 'not_json') return body
  if (event === 'error' && body.type !== 'error') return { type: 'error', error: body.error ?? body }
  return body.type === undefined && event !== null ? { ...body, type: event } : body
}
