import { encodeEvent } from '../sse/encode.ts'

/** The three request styles; each ends and fails a stream in its own way. */
export type Style = 'chat' | 'responses' | 'messages'

/** Why a stream broke, in the words of the error table. */
export type Failure = { readonly code: string; readonly type: string; readonly message: string }

export type StreamWatch = {
  /** Takes notice of bytes that have gone to the caller. */
  see(chunk: Buffer): void
  /** Whether the event that ends such a stream well has passed. Only watched where the transport cannot tell. */
  hasEnded(): boolean
  /**
   * The event that tells the caller of a failure; null in the middle of an event, where nothing can be added that a client would
   * understand. The connection must break all the same: some clients of the chat style take any clean end as success.
   */
  failure(failure: Failure): string | null
}

const ENDINGS: Readonly<Record<Style, readonly Buffer[]>> = {
  chat: [Buffer.from('[DONE]')],
  messages: [Buffer.from('message_stop')],
  responses: [Buffer.from('response.completed'), Buffer.from('response.incomplete'), Buffer.from('response.failed')],
}

/** The longest ending, less one: what must be kept of a chunk to find an ending that is cut in two. */
const KEEP = 'response.incomplete'.length - 1

const SEQUENCE_NUMBER = Buffer.from('"sequence_number":')

/** Watches a stream of one style go by. Per chunk it looks at the last four bytes, in the responses style also for the last sequence number. */
export function watchStream(style: Style, { untilClosed }: { untilClosed: boolean }): StreamWatch {
  const boundary = watchBoundary()
  const ending = untilClosed ? watchEnding(ENDINGS[style]) : null
  const response = style === 'responses' ? watchResponse() : null
  return {
    see(chunk) {
      boundary.see(chunk)
      ending?.see(chunk)
      response?.see(chunk)
    },
    hasEnded: () => ending?.found() ?? true,
    failure: (failure) => (boundary.isBetweenEvents() ? failureEvent(style, failure, response?.shown() ?? null) : null),
  }
}

/** A blank line ends an event, whichever of the three line ends a server uses (WHATWG HTML, section 9.2.6). */
function watchBoundary() {
  const LF = 0x0a
  const CR = 0x0d
  let tail = (LF << 8) | LF
  return {
    see(chunk: Buffer): void {
      for (let at = Math.max(0, chunk.length - 4); at < chunk.length; at++) tail = (tail << 8) | (chunk[at] ?? 0)
    },
    isBetweenEvents(): boolean {
      const last = tail & 0xff
      const before = (tail >>> 8) & 0xff
      if (last !== LF) return last === CR && before === CR
      return before === LF || (before === CR && [LF, CR].includes((tail >>> 16) & 0xff))
    },
  }
}

function watchEnding(endings: readonly Buffer[]) {
  let kept = Buffer.alloc(0)
  let found = false
  return {
    see(chunk: Buffer): void {
      const joined = Buffer.concat([kept, chunk])
      found ||= endings.some((ending) => joined.includes(ending))
      kept = Buffer.from(joined.subarray(-KEEP))
    },
    found: () => found,
  }
}

type Shown = {
  readonly id: string
  readonly createdAt: number
  readonly model: string
  readonly sequenceNumber: number
}

/** What the stream has said about its response, so that a failure belongs to it. */
function watchResponse() {
  let id: string | null = null
  let createdAt = 0
  let model = ''
  let sequenceNumber = -1
  return {
    see(chunk: Buffer): void {
      if (id === null) {
        const text = chunk.toString('utf8', 0, 4096)
        id = /"id"\s*:\s*"(\w{1,128})"/.exec(text)?.[1] ?? null
        createdAt = Number(/"created_at"\s*:\s*(\d{1,12})/.exec(text)?.[1] ?? 0)
        model = /"model"\s*:\s*"([^"\\]{1,256})"/.exec(text)?.[1] ?? ''
      }
      const at = chunk.lastIndexOf(SEQUENCE_NUMBER)
      if (at === -1) return
      const from = at + SEQUENCE_NUMBER.length
      const digits = /^\s*(\d{1,9})/.exec(chunk.toString('latin1', from, from + 12))
      if (digits) sequenceNumber = Number(digits[1])
    },
    shown: (): Shown => ({ id: id ?? 'resp_unknown', createdAt, model, sequenceNumber }),
  }
}

function failureEvent(style: Style, { code, type, message }: Failure, shown: Shown | null): string {
  switch (style) {
    case 'chat':
      return encodeEvent({ event: null, data: JSON.stringify({ error: { message, type, code, param: null } }) })
    case 'messages':
      return encodeEvent({ event: 'error', data: JSON.stringify({ type: 'error', error: { type, code, message } }) })
    case 'responses':
      // Clients of this style do not look at an event named `error`.
      return encodeEvent({ event: 'response.failed', data: JSON.stringify(failedResponse(code, message, shown)) })
  }
}

function failedResponse(code: string, message: string, shown: Shown | null) {
  return {
    type: 'response.failed',
    sequence_number: (shown?.sequenceNumber ?? -1) + 1,
    response: {
      id: shown?.id ?? 'resp_unknown',
      object: 'response',
      created_at: shown?.createdAt ?? 0,
      status: 'failed',
      model: shown?.model ?? '',
      error: { code, message },
      incomplete_details: null,
      output: [],
      usage: null,
    },
  }
}
