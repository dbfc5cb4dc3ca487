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
  ['responses', 'chat', { input: 'hi', max_output_tokens: -1 }, 'max_output_tokens'],
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
    { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://x.test/a.png' }] }] },
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
