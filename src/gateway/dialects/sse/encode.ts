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

/** Writes a comment, which clients ignore. Write it only between events. */
export function encodeComment(text: string): string {
  return `: ${text.replaceAll(LINE_END, ' ')}\n\n`
}

/** The comment that keeps a silent stream alive. */
export const KEEP_ALIVE_COMMENT = encodeComment('keep-alive')
