import type { ChatFunction, ChatRequest } from '../../src/gateway/dialects/chat/wire.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import type { Refusal } from '../../src/gateway/dialects/refusal.ts'
import { translation, tryTranslation } from './streams.ts'

export const asked = (body: Json) =>
  translation('messages', { messages: [], ...body }).request as Omit<ChatRequest, 'tools'> & { tools?: ChatFunction[] }

export const refused = (body: Json): Refusal | null => {
  const result = tryTranslation('messages', { messages: [], ...body })
  return 'refused' in result ? result.refused : null
}

export const user = (...content: unknown[]): Json => ({ role: 'user', content })
export const assistant = (...content: unknown[]): Json => ({ role: 'assistant', content })
export const text = (said: string): Json => ({ type: 'text', text: said, cache_control: { type: 'ephemeral' } })
export const use = (id: string, input: unknown = {}): Json => ({
  type: 'tool_use',
  id,
  name: 'read',
  input,
  caller: { type: 'direct' },
})
export const result = (id: string, content?: unknown, more: Json = {}): Json => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
})
export const PNG = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
export const PNG_PART = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
export const call = (id: string, args = '{}'): unknown => ({
  id,
  type: 'function',
  function: { name: 'read', arguments: args },
})
