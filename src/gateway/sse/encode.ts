import type { SseEvent } from './decode.ts'

/** The event as it goes over the wire, its closing blank line included; data of several lines becomes several fields. */
export function encodeEvent({ event, data }: SseEvent): string {
  const name = event === null ? '' : `event: ${event}\n`
  return name + `data: ${data.replaceAll(LINE_END, '\ndata: ')}\n\n`
}

/** A comment that no reader sees: keeps a quiet connection alive. Only between events, never inside one. */
export function encodeComment(text: string): string {
  return `: ${text.replaceAll(LINE_END, ' ')}\n\n`
}

const LINE_END = /\r\n|\r|\n/g
