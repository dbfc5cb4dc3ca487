import type { SseEvent } from '../sse/decode.ts'
import { type ChatEvent, type ChatUsage, readChatEvent } from './chat.ts'
import type { Outcome, StreamTranslator } from './chat-answer.ts'
import { spliceTopLevel } from './splice.ts'

/**
 * A chat stream as the client gets it: the model goes by its service id, and the end never lies. `[DONE]` follows only an
 * answer that gave its reason; everything else ends with an error chunk and without `[DONE]`.
 */
export function chatStream({ model }: { readonly model: string }): StreamTranslator {
  let state: Outcome['state'] = 'open'
  let started = false
  let finish: string | null = null
  let usage: ChatUsage | null = null

  function failWith(event: SseEvent): SseEvent[] {
    if (state !== 'open') return []
    state = 'failed'
    return [event]
  }

  function complete(): SseEvent[] {
    if (state !== 'open') return []
    state = finish === 'length' || finish === 'content_filter' ? 'incomplete' : 'completed'
    return [{ event: null, data: '[DONE]' }]
  }

  function takeChunk(chunk: Extract<ChatEvent, { kind: 'chunk' }>, event: SseEvent): SseEvent[] {
    started = true
    finish = chunk.finish ?? finish
    usage = chunk.usage ?? usage
    return [withModel(event, chunk.model, model)]
  }

  return {
    push(event) {
      if (state !== 'open') return []
      const read = readChatEvent(event)
      if (read.kind === 'chunk') return takeChunk(read, event)
      if (read.kind === 'error') return failWith(chatFailure(read.error.message))
      if (read.kind === 'nothing') return []
      return started ? complete() : failWith(chatFailure('The engine ended its answer before it began.'))
    },
    end: () => (finish === null ? failWith(chatFailure('The engine ended its answer too early.')) : complete()),
    fail: (message) => failWith(chatFailure(message)),
    outcome: () => ({ state, usage }),
  }
}

/** The error chunk that ends a chat stream; clients of that style throw on its `error` member. */
export function chatFailure(message: string): SseEvent {
  const error = { message, type: 'api_error', param: null, code: 'upstream_failed' }
  return { event: null, data: JSON.stringify({ error }) }
}

/**
 * The chunk with the other model id. Quotes are escaped inside of JSON texts, so where these characters occur once, they are
 * the member; anything less plain is scanned.
 */
function withModel(event: SseEvent, served: string | null, model: string): SseEvent {
  const { data } = event
  const member = `"model":${JSON.stringify(served)}`
  const at = served === null ? -1 : data.indexOf(member)
  if (at !== -1 && !data.includes('"model"', at + member.length) && data.indexOf('"model"') === at) {
    return {
      event: null,
      data: `${data.slice(0, at)}"model":${JSON.stringify(model)}${data.slice(at + member.length)}`,
    }
  }
  const spliced = spliceTopLevel(Buffer.from(data), { model })
  return spliced ? { event: null, data: spliced.bytes.toString() } : event
}
