import { type EngineError, readCompletion } from './chat.ts'
import { chatAnswer, type Outcome } from './chat-answer.ts'
import { type Json, readObject } from './read.ts'
import { responsesEvents, type ResponsesOptions } from './responses-stream.ts'

/** A chat completion as a response of the responses style, or why the engine's answer is none. */
export function toResponseFromChat(
  completion: unknown,
  options: ResponsesOptions,
): { response: Json; outcome: Outcome } | { failed: EngineError } {
  const answer = chatAnswer({ newId: options.newId, argumentsMustBeObjects: false })
  const events = [...answer.push(readCompletion(completion)), ...answer.push({ kind: 'done' })]
  const end = events.at(-1)
  if (end?.type === 'fail') return { failed: end.error }
  // What a stream says last is the whole response.
  const last = events.flatMap(responsesEvents(options)).at(-1)
  return { response: readObject(last?.response), outcome: answer.outcome() }
}
