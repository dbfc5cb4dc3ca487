import { readCompletion } from '../chat/chunk.ts'
import type { Failure } from '../failure.ts'
import { chatAnswer } from '../chat/answer.ts'
import { type Json, readObject } from '../json/read-json.ts'
import { responsesEvents, type ResponsesOptions } from './stream.ts'

/** A chat completion as a response of the responses style, or why the engine's answer is none. */
export function toResponseFromChat(
  completion: unknown,
  options: ResponsesOptions,
): { answer: Json } | { failed: Failure } {
  const answer = chatAnswer({ newId: options.newId, argumentsMustBeObjects: false })
  const events = [...answer.push(readCompletion(completion)), ...answer.push({ kind: 'done' })]
  const end = events.at(-1)
  if (end?.type === 'fail') return { failed: end.failure }
  // What a stream says last is the whole response.
  const last = events.flatMap(responsesEvents(options)).at(-1)
  return { answer: readObject(last?.response) }
}
