import type { SseEvent } from './decode.ts'

const LINE_END = /\r\n|\r|\n/g

/**
 * The event as it goes over the wire, its closing blank line included; data of several lines becomes several fields.
 */
export function encodeEvent({ event, data }: SseEvent): string {
  const name = event === null ? '' : `event: ${event}\n`
  return name + `data: ${data.replaceAll(LINE_END, '\ndata: ')}\n\n`
}

/** A comment, which no client shows. It may stand between events, not inside one. */
export function encodeComment(text: string): string {
  return `: ${text.replaceAll(LINE_END, ' ')}\n\n`
}

/** The comment that keeps a silent stream alive. */
export const KEEP_ALIVE_COMMENT = encodeComment('keep-alive')
