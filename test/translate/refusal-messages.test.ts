import { expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { translateCall } from '../../src/gateway/dialects/translate.ts'
import { countingIds, TRANSLATION } from './streams.ts'

const OPTIONS = { ...TRANSLATION, backendModel: 'fast', newId: countingIds() }

it.each<[Dialect, Dialect, Json, string]>([
  ['chat', 'messages', { messages: [], max_tokens: 0 }, 'max_tokens'],
  ['chat', 'messages', { messages: 'hi' }, 'messages'],
  ['chat', 'messages', { messages: [{ role: 'friend', content: 'hi' }] }, 'messages.0.role'],
  ['messages', 'chat', { messages: [], max_tokens: 0.5 }, 'max_tokens'],
  ['messages', 'chat', { messages: {} }, 'messages'],
  ['messages', 'chat', { messages: [{ role: 'friend', content: 'hi' }] }, 'messages.0.role'],
  ['responses', 'chat', { input: 'hi', max_output_tokens: -2 }, 'max_output_tokens'],
  ['responses', 'chat', { input: 1 }, 'input'],
  ['responses', 'chat', { input: [{ role: 'friend', content: 'hi' }] }, 'input.0.role'],
])('names a refused parameter of %s to %s once: %j', (client, backend, body, param) => {
  // Callers get `PARAM: MESSAGE`.
  const message = expect.stringMatching(/^It must be /) as string
  expect(translateCall(client, backend, body, OPTIONS)).toEqual({ refused: { param, message } })
})

const told = (client: Dialect, body: Json) => {
  const made = translateCall(client, 'messages', body, OPTIONS)
  return 'refused' in made ? made.refused : null
}

it.each<[Dialect, Json, string, RegExp]>([
  [
    'chat',
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { data: 'AAAA' } }] }] },
    'messages.0.content.0.image_url',
    /an object with a url/,
  ],
  [
    'responses',
    { input: [{ role: 'user', content: [{ type: 'input_image', image_url: { url: 'https://x.test/a.png' } }] }] },
    'input.0.content.0',
    /image_url, with a URL/,
  ],
  [
    'responses',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] },
    'input.0.content.0',
    /does not store files/,
  ],
])('says how to send an image: %s, %j', (client, body, param, words) => {
  expect(told(client, body)).toMatchObject({ param, message: expect.stringMatching(words) as string })
})

const BODIES: Readonly<Record<Dialect, Json>> = {
  chat: { messages: [{ role: 'user', content: 'hi' }] },
  responses: { input: 'hi' },
  messages: { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] },
}

it.each<[Dialect, string, unknown, RegExp]>([
  ['chat', 'system', 'Be brief.', /role system/],
  ['chat', 'instructions', 'Be brief.', /role system/],
  ['chat', 'input', 'hi', /as messages/],
  ['chat', 'max_output_tokens', 9, /max_completion_tokens/],
  ['chat', 'stop_sequences', ['a'], /as stop/],
  ['responses', 'messages', [{ role: 'user', content: 'hi' }], /as input/],
  ['responses', 'system', 'Be brief.', /as instructions/],
  ['responses', 'max_tokens', 9, /max_output_tokens/],
  ['responses', 'max_completion_tokens', 9, /max_output_tokens/],
  ['responses', 'response_format', { type: 'json_object' }, /text\.format/],
  ['responses', 'stop', ['a'], /leave stop out/],
  ['responses', 'stop_sequences', ['a'], /leave stop_sequences out/],
  ['messages', 'instructions', 'Be brief.', /as system/],
  ['messages', 'max_completion_tokens', 9, /as max_tokens/],
  ['messages', 'max_output_tokens', 9, /as max_tokens/],
  ['messages', 'stop', 'a', /stop_sequences/],
  ['messages', 'response_format', { type: 'json_object' }, /output_config\.format/],
  ['messages', 'reasoning_effort', 'low', /output_config\.effort/],
])('says where a member of another dialect belongs: %s, %s', (client, param, value, words) => {
  const backend = client === 'chat' ? 'messages' : 'chat'
  const refusalFor = (given: unknown) => {
    const made = translateCall(client, backend, { ...BODIES[client], [param]: given }, OPTIONS)
    return 'refused' in made ? made.refused : null
  }
  expect(refusalFor(value)).toMatchObject({ param, message: expect.stringMatching(words) as string })
  expect([null, []].map(refusalFor)).toEqual([null, null])
})

it.each<[Dialect, string, unknown, string]>([
  ['chat', 'stop', [1], 'It must be a text or a list of texts.'],
  ['chat', 'response_format', 'json', 'It must be an object with a type.'],
  ['chat', 'temperature', '1', 'It must be a number.'],
  ['chat', 'presence_penalty', '1', 'It must be a number.'],
  ['chat', 'n', '2', 'It must be a whole number of at least 1.'],
  ['responses', 'top_p', '0.5', 'It must be a number.'],
  ['messages', 'stop_sequences', [1], 'It must be a text or a list of texts.'],
  ['messages', 'top_k', '5', 'It must be a number.'],
  ['messages', 'output_format', 'json', 'The output format must be json_schema.'],
  ['messages', 'tool_choice', 'any', 'It must be an object with a type.'],
])('names a member that has another type than its dialect: %s, %s: %j', (client, param, value, message) => {
  const backend = client === 'chat' ? 'messages' : 'chat'
  const made = translateCall(client, backend, { ...BODIES[client], [param]: value }, OPTIONS)
  expect(made).toEqual({ refused: { param, message } })
})

it.each<[Dialect, string, RegExp]>([
  ['chat', 'input_text', /as text/],
  ['chat', 'image', /as image_url/],
  ['chat', 'tool_result', /role tool/],
  ['responses', 'image_url', /as input_image/],
  ['responses', 'document', /as input_file/],
  ['messages', 'output_text', /as text/],
  ['messages', 'image_url', /as image/],
  ['messages', 'constructor', /leave it out/],
])('says what the dialect has in place of content of another dialect: %s, %s', (client, type, words) => {
  const list = client === 'responses' ? 'input' : 'messages'
  const backend = client === 'chat' ? 'messages' : 'chat'
  const body = { [list]: [{ role: 'user', content: [{ type }] }] }
  const message = expect.stringMatching(words) as string
  expect(translateCall(client, backend, body, OPTIONS)).toEqual({ refused: { param: `${list}.0.content.0`, message } })
})
