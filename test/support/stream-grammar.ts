import type { SseEvent } from '../../src/gateway/dialects/sse/decode.ts'
import type { Dialect } from '../../src/kernel/dialect.ts'
import { checkChatStream } from './stream-grammar/chat.ts'
import { checkMessagesStream } from './stream-grammar/messages.ts'
import { checkResponsesStream } from './stream-grammar/responses.ts'

export { checkChatStream, checkMessagesStream, checkResponsesStream }

/** What is wrong with the events of a stream, by its dialect. */
export const CHECKS: Readonly<Record<Dialect, (events: readonly SseEvent[]) => string[]>> = {
  chat: checkChatStream,
  responses: checkResponsesStream,
  messages: checkMessagesStream,
}
