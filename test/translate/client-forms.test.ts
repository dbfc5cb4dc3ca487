/** Forms of requests that differ from their dialect, as widespread clients send them to servers of every vendor. */
import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { pair } from './pairs.ts'
import { VENDOR_CAPS } from './vendor-caps.ts'

const USER = { role: 'user', content: 'hi' }
const READ = { type: 'function', function: { name: 'read', parameters: { type: 'object', properties: {} } } }
const URL = 'https://x.test/a.png'

const requestFor = (client: Dialect, backend: Dialect, body: Json) =>
  pair(client, backend, body, { caps: VENDOR_CAPS[backend] }).request

describe('a reasoning effort', () => {
  it.each<[string, Dialect, Json]>([
    ['Qwen Code and Crush', 'chat', { messages: [USER], reasoning: { effort: 'low' } }],
    ['Open WebUI', 'responses', { input: 'hi', reasoning_effort: 'low' }],
  ])('of %s in a %s request is that of the dialect', (_who, client, body) => {
    const backend = client === 'chat' ? 'responses' : 'chat'
    const expected = client === 'chat' ? { reasoning: { effort: 'low' } } : { reasoning_effort: 'low' }
    expect(requestFor(client, backend, body)).toMatchObject(expected)
  })
})

it.each<[Dialect, Dialect, Json, string]>([
  ['chat', 'responses', { messages: [USER], max_completion_tokens: -1 }, 'max_output_tokens'],
  ['responses', 'chat', { input: 'hi', max_output_tokens: -1 }, 'max_completion_tokens'],
])('a token limit of -1 in a %s request is no limit', (client, backend, body, limit) => {
  expect(requestFor(client, backend, body)).not.toHaveProperty(limit)
})

it.each([
  ['Mistral’s word', 'any', 'required'],
  ['Cursor’s object', { type: 'auto' }, 'auto'],
  ['Cursor’s object', { type: 'required' }, 'required'],
])('a tool choice may be %s: %j', (_form, tool_choice, expected) => {
  expect(requestFor('chat', 'responses', { messages: [USER], tools: [READ], tool_choice })).toMatchObject({
    tool_choice: expected,
  })
})

it('an image may be its URL, as clients of Mistral write it', () => {
  const image = { type: 'image_url', image_url: URL }
  expect(requestFor('chat', 'messages', { messages: [{ role: 'user', content: [image] }] })).toMatchObject({
    messages: [{ content: [{ type: 'image', source: { type: 'url', url: URL } }] }],
  })
})

it.each([
  ['https://x.test/a.pdf', { type: 'url', url: 'https://x.test/a.pdf' }],
  ['data:application/pdf;base64,JVBE', { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }],
])('a document may be its URL, as clients of Mistral write it: %s', (url, source) => {
  const document = { type: 'document_url', document_url: url, document_name: 'a.pdf' }
  expect(requestFor('chat', 'messages', { messages: [{ role: 'user', content: [document] }] })).toMatchObject({
    messages: [{ content: [{ type: 'document', source, title: 'a.pdf' }] }],
  })
})

it.each(['responses', 'messages'] as const)(
  'the schema of a json_object, as clients of Fireworks and Together write it, reaches a %s backend',
  (backend) => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
    const format = { type: 'json_schema', schema }
    expect(
      requestFor('chat', backend, { messages: [USER], response_format: { type: 'json_object', schema } }),
    ).toMatchObject(backend === 'responses' ? { text: { format } } : { output_config: { format } })
  },
)

it.each([
  { type: 'thinking', thinking: [{ type: 'text', text: 'Let me see.' }] },
  { type: 'thinking', thinking: 'Let me see.', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'c2ln' },
])('reasoning among the texts of the assistant stays out of a call to another vendor: %j', (thought) => {
  const content = [thought, { type: 'text', text: 'Yes.' }]
  const messages = [USER, { role: 'assistant', content }, USER]
  expect(requestFor('chat', 'messages', { messages }).messages).toMatchObject([
    { role: 'user' },
    { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
    { role: 'user' },
  ])
})
