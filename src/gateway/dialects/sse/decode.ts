import { TextPieces } from '../../../kernel/pieces.ts'

/** A server-sent event. `event` is null when the stream gives no name; the standard then calls it `message`. */
export type SseEvent = { readonly event: string | null; readonly data: string }

/** Decodes one stream. */
export type SseDecoder = {
  /** Returns the events that these bytes complete. Throws `SseEventTooLarge` when an event exceeds the limit. */
  push(chunk: Uint8Array): SseEvent[]
  /** The most memory that the incomplete event takes, in bytes. */
  heldBytes(): number
}

/** 16 Mi characters: the largest event seen in practice is one tool call that writes a file. */
const MAX_EVENT_CHARACTERS = 16 * 1024 * 1024

/** One event of a stream exceeds the decoder's limit. */
export class SseEventTooLarge extends Error {
  /** The reason in the log of a call. */
  readonly code = 'too_large'

  constructor(limit: number) {
    super(`An event of the stream is larger than ${limit} characters.`)
  }
}

/**
 * Makes a decoder for one event stream (WHATWG HTML, section 9.2.6). The bytes may be cut anywhere, also inside a
 * character. It reads CR, LF and CRLF, data of several lines, comments, fields without a space, and a byte order mark.
 * It ignores `id` and `retry`, because the gateway never reconnects. An event without a blank line after it is dropped,
 * as the standard requires.
 */
export function makeSseDecoder(maxEventCharacters = MAX_EVENT_CHARACTERS): SseDecoder {
  const decoder = new TextDecoder()
  const fields = eventFields()
  const unfinished = new TextPieces()
  let afterCarriageReturn = false
  let isAscii = true

  const heldCharacters = () => unfinished.length + fields.size()

  function takeLines(text: string): SseEvent[] {
    const events: SseEvent[] = []
    const nextLineEnd = lineEnds(text)
    let from = afterCarriageReturn && text.startsWith('\n') ? 1 : 0
    for (let end = nextLineEnd(from); end !== -1; end = nextLineEnd(from)) {
      const line = text.slice(from, end)
      const event = fields.take(unfinished.length > 0 ? unfinished.take() + line : line)
      if (event) events.push(event)
      from = text.startsWith('\r\n', end) ? end + 2 : end + 1
    }
    // Only new text is searched for line ends, so that a long line in many chunks takes linear time.
    if (from < text.length) unfinished.add(text.slice(from))
    afterCarriageReturn = text.endsWith('\r')
    if (heldCharacters() > maxEventCharacters) throw new SseEventTooLarge(maxEventCharacters)
    return events
  }

  return {
    push(chunk) {
      const text = decoder.decode(chunk, { stream: true })
      isAscii &&= text.length === chunk.length
      return text === '' ? [] : takeLines(text)
    },
    // V8 takes two bytes for each character of a text where one of them needs two.
    heldBytes: () => heldCharacters() * (isAscii ? 1 : 2),
  }
}

/** The memory that a line takes besides its characters. */
const LINE_BYTES = 32

/** Collects the fields of one event until a blank line completes it. */
function eventFields(): { take(line: string): SseEvent | null; size(): number } {
  let event = ''
  let data: string[] = []
  let size = 0

  function dispatch(): SseEvent | null {
    const dispatched = data.length === 0 ? null : { event: event === '' ? null : event, data: data.join('\n') }
    event = ''
    data = []
    size = 0
    return dispatched
  }

  return {
    take(line) {
      if (line === '') return dispatch()
      const colon = line.indexOf(':')
      const name = colon === -1 ? line : line.slice(0, colon)
      const value = colon === -1 ? '' : line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1)
      if (name === 'event') event = value
      if (name === 'data') {
        data.push(value)
        size += value.length + LINE_BYTES
      }
      return null
    },
    size: () => size + event.length,
  }
}

/** Returns a function that finds the first line end from a position on. Each character is searched only once. */
function lineEnds(text: string): (from: number) => number {
  let lineFeed = 0
  let carriageReturn = 0
  const next = (end: string, known: number, from: number): number => {
    if (known >= from && text[known] === end) return known
    const found = known === Infinity ? -1 : text.indexOf(end, from)
    return found === -1 ? Infinity : found
  }
  return (from) => {
    lineFeed = next('\n', lineFeed, from)
    carriageReturn = next('\r', carriageReturn, from)
    const end = Math.min(lineFeed, carriageReturn)
    return end === Infinity ? -1 : end
  }
}
