import { isObject, type Json, readCount, readObject } from './json/read-json.ts'

/** A message of the messages dialect, by its shape. */
export function isMessage(body: Json): boolean {
  return body.type === 'message' && Array.isArray(body.content) && isObject(body.usage)
}

/** A response of the responses dialect, by its shape. */
export function isResponse(body: Json): boolean {
  return body.object === 'response' && Array.isArray(body.output)
}

/** A chat completion or a completion, by its shape. */
export function isCompletion(body: Json): boolean {
  return Array.isArray(body.choices)
}

/** A list of embeddings, by its shape. */
export function isEmbeddingList(body: Json): boolean {
  return Array.isArray(body.data) && body.data.every((one) => readObject(one).embedding !== undefined)
}

/** A count of tokens of the messages dialect, by its shape. */
export function isTokenCount(body: Json): boolean {
  return readCount(body.input_tokens) !== null
}
