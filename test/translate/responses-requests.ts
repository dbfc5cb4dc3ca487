import type { ChatFunction, ChatRequest } from '../../src/gateway/dialects/chat/wire.ts'
import { parseObject, readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { Refusal } from '../../src/gateway/dialects/refusal.ts'
import { translation, tryTranslation } from './streams.ts'

export type EngineRequest = Omit<ChatRequest, 'tools'> & { tools?: ChatFunction[] }

const crossed = (body: Json) => translation('responses', { input: [], ...body })
export const asked = (body: Json) => crossed(body).request as EngineRequest

/** The response that the answer of a call begins with. */
export const begun = (body: Json): Json => {
  const [created] = crossed(body).answer.stream().push({ event: null, data: '{"choices":[{"delta":{}}]}' })
  return readObject(parseObject(created?.data ?? '')?.response)
}

/** The one item of the answer when the model calls this function. */
export const calledBack = (body: Json, name: string): Json => {
  const message = { tool_calls: [{ id: 'c', function: { name, arguments: '{"input":"x"}' } }] }
  const whole = crossed(body).answer.whole({ choices: [{ message, finish_reason: 'tool_calls' }] })
  return readObject(readList('answer' in whole ? whole.answer.output : [])[0])
}

export const refused = (body: Json): Refusal | null => {
  const result = tryTranslation('responses', { input: [], ...body })
  return 'refused' in result ? result.refused : null
}

export const message = (role: string, ...content: unknown[]): Json => ({ type: 'message', role, content })
export const input = (text: string): Json => ({ type: 'input_text', text })
export const called = (id: string, args = '{}', more: Json = {}): Json => ({
  type: 'function_call',
  call_id: id,
  name: 'read',
  arguments: args,
  ...more,
})
export const output = (id: string, said: unknown): Json => ({ type: 'function_call_output', call_id: id, output: said })
export const call = (id: string, args = '{}', name = 'read'): unknown => ({
  id,
  type: 'function',
  function: { name, arguments: args },
})
export const PNG = 'data:image/png;base64,AAAA'
