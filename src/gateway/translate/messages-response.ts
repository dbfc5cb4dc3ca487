import { readCompletion } from './chat.ts'
import { type AnswerEvent, chatAnswer, type Outcome } from './chat-answer.ts'
import { type MessagesOptions, toBlock, toEnd, toMessage } from './messages-stream.ts'
import type { EngineError } from './chat.ts'
import { type Json, parseObject } from './read.ts'

/**
 * A chat completion as a message of the messages style, or why the engine's answer is none. A call that the token limit
 * cut off is left out, because this style holds arguments as an object; `stop_reason` says `max_tokens` then.
 */
export function toMessageFromChat(
  completion: unknown,
  { model, newId, facts }: MessagesOptions,
): { message: Json; outcome: Outcome } | { failed: EngineError } {
  const answer = chatAnswer({ newId, argumentsMustBeObjects: true })
  const events = [...answer.push(readCompletion(completion)), ...answer.push({ kind: 'done' })]
  const end = events.at(-1)
  if (end?.type === 'fail') return { failed: end.error }
  if (end?.type !== 'finish') throw new Error('An answer that was ended has no end.')
  const message = toMessage({ id: newId('msg_'), model, content: events.flatMap(toContent) }, toEnd(end, facts))
  return { message, outcome: answer.outcome() }
}

function toContent(event: AnswerEvent): Json[] {
  if (event.type !== 'close') return []
  const input = event.part.kind === 'tool' ? parseObject(event.text) : {}
  return input === null ? [] : [toBlock(event.part, { text: event.text, input })]
}
