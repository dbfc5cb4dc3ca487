import { readCompletion } from '../chat/chunk.ts'
import { type AnswerEvent, chatAnswer } from '../chat/answer.ts'
import { type MessagesOptions, toBlock, toEnd, toMessage } from './stream.ts'
import type { Failure } from '../failure.ts'
import { type Json, parseObject } from '../json/read-json.ts'

/**
 * A chat completion as a message of the messages style, or why the engine's answer is none. A call that the token limit
 * cut off is left out, because this style holds arguments as an object; `stop_reason` says `max_tokens` then.
 */
export function toMessageFromChat(
  completion: unknown,
  { model, newId, facts }: MessagesOptions,
): { answer: Json } | { failed: Failure } {
  const answer = chatAnswer({ newId, argumentsMustBeObjects: true })
  const events = [...answer.push(readCompletion(completion)), ...answer.push({ kind: 'done' })]
  const end = events.at(-1)
  if (end?.type === 'fail') return { failed: end.failure }
  if (end?.type !== 'finish') throw new Error('An answer that was ended has no end.')
  const message = toMessage({ id: newId('msg_'), model, content: events.flatMap(toContent) }, toEnd(end, facts))
  return { answer: message }
}

function toContent(event: AnswerEvent): Json[] {
  if (event.type !== 'close') return []
  const input = event.part.kind === 'tool' ? parseObject(event.text) : {}
  return input === null ? [] : [toBlock(event.part, { text: event.text, input })]
}
