import { isObject } from '../../kernel/json.ts'
import { readCount, readObject } from './json/read-json.ts'
import type { Json } from './json/read-json.ts'

/** Whether a body has the shape of a message of the messages dialect. */
export function isMessage(body: Json): boolean {
  return body.type === 'message' && Array.isArray(body.content) && isObject(body.usage)
}

/** Whether a body has the shape of a response of the responses dialect. */
export function isResponse(body: Json): boolean {
  return body.object === 'response' && Array.isArray(body.output)
}

/** Whether a body has the shape of a chat completion or a completion. */
export function isCompletion(body: Json): boolean {
  return Array.isArray(body.choices)
}

/** Whether a body has the shape of a list of embeddings. */
export function isEmbeddingList(body: Json): boolean {
  return Array.isArray(body.data) && body.data.every((one) => readObject(one).embedding !== undefined)
}

/** Whether a body has the shape of a token count. */
export function isTokenCount(body: Json): boolean {
  return readCount(body.input_tokens) !== null
}
