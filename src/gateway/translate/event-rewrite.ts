import { sseDecoder } from '../sse/decode.ts'
import type { SseEvent } from '../sse/decode.ts'
import { encodeComment, encodeEvent } from '../sse/encode.ts'
import type { StreamRewrite } from '../upstream/relay.ts'
import type { Style } from '../upstream/stream-watch.ts'
import type { StreamTranslator } from './chat-answer.ts'

/** A translator between bytes and bytes: what a stream of this style becomes on its way to the caller. */
export function eventRewrite(translator: StreamTranslator, style: Style): StreamRewrite {
  const decoder = sseDecoder()
  let begun = false

  const toBytes = (events: readonly SseEvent[]): Buffer => {
    begun ||= events.length > 0
    return events.length === 0 ? NOTHING : Buffer.from(events.map(encodeEvent).join(''))
  }
  return {
    push: (chunk) => toBytes(decoder.push(chunk).flatMap((event) => translator.push(event))),
    end: () => toBytes(translator.end()),
    fail: ({ message }) => toBytes(translator.fail(message)),
    state() {
      const { state } = translator.outcome()
      return state === 'open' || state === 'failed' ? state : 'ended'
    },
    keepAlive: () => (begun && style === 'messages' ? PING : COMMENT),
  }
}

const NOTHING = Buffer.alloc(0)

/** What that vendor sends itself while its model is silent. Before `message_start` a client does not expect it. */
const PING = encodeEvent({ event: 'ping', data: '{"type":"ping"}' })
const COMMENT = encodeComment('keep-alive')
