import type { SseEvent } from './decode.ts'

const LINE_END = /\r\n|\r|\n/g

/** Writes an event with its closing blank line. Data of several lines becomes several `data` fields. */
export function encodeEvent({ event, data }: SseEvent): string {
  const name = event === null ? '' : `event: ${event}\n`
  return name + `data: ${data.replaceAll(LINE_END, '\ndata: ')}\n\n`
}

/** Encodes events as the bytes of a stream. */
export function encodeEvents(events: readonly SseEvent[]): Buffer {
  return Buffer.from(events.map(encodeEvent).join(''))
}

/** The comment that keeps a silent stream alive. Clients ignore it. Write it only between events. */
export const KEEP_ALIVE_COMMENT = ': keep-alive\n\n'
