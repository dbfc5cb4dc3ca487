import { expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { UNSIGNED_MARK } from '../../src/gateway/dialects/unsigned-content.ts'
import { toAcceptedRequest } from '../../src/gateway/dialects/responses/accepted-request.ts'
import { DIALECT_NAMES } from '../../src/kernel/dialect.ts'
import { withoutUnsigned } from './pairs.ts'

const strip = (dialect: Dialect, body: unknown): unknown =>
  JSON.parse(withoutUnsigned(dialect, Buffer.from(JSON.stringify(body))).toString())

const LOCAL = { type: 'thinking', thinking: 'hm', signature: UNSIGNED_MARK }
const SIGNED = { type: 'thinking', thinking: 'hm', signature: 'EqQB' }
const TEXT = { type: 'text', text: 'yes' }

it('removes the reasoning of a local model from a session that continues at the vendor, and no other reasoning', () => {
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [LOCAL, SIGNED, TEXT] },
    { role: 'assistant', content: [LOCAL] },
    { role: 'user', content: [] },
  ]
  expect(strip('messages', { model: 'm', messages, max_tokens: 9 })).toEqual({
    model: 'm',
    messages: [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [SIGNED, TEXT] },
      { role: 'user', content: [] },
    ],
    max_tokens: 9,
  })
})

it('removes the reasoning items of a local model from a responses session', () => {
  const local = { type: 'reasoning', summary: [], encrypted_content: UNSIGNED_MARK }
  const sealed = { type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  expect(strip('responses', { input: [local, sealed, { role: 'user', content: 'hi' }] })).toEqual({
    input: [sealed, { role: 'user', content: 'hi' }],
  })
})

it.each(['', undefined, '0123456789abcdef0123456789abcdef'])(
  'removes reasoning with the signature %j, which engines write that support the dialect',
  (signature) => {
    const content = [{ type: 'thinking', thinking: 'hm', signature }, TEXT]
    expect(strip('messages', { messages: [{ role: 'assistant', content }] })).toEqual({
      messages: [{ role: 'assistant', content: [TEXT] }],
    })
  },
)

it('removes reasoning that an engine wrote as plain text', () => {
  const plain = { type: 'reasoning', summary: [], encrypted_content: 'I should look first.' }
  const empty = { type: 'reasoning', summary: [], encrypted_content: '' }
  const without = { type: 'reasoning', summary: [] }
  expect(strip('responses', { input: [plain, empty, without] })).toEqual({ input: [without] })
})

it.each<[string, (body: Buffer) => Buffer, string]>([
  [
    'reasoning of a local model',
    (body) => withoutUnsigned('responses', body),
    `{"type":"reasoning","encrypted_content":"${UNSIGNED_MARK}"}`,
  ],
  [
    'reasoning that its vendor refuses',
    (body) => toAcceptedRequest(body, JSON.parse(body.toString()) as Json, { reasoningReplay: 'unreadable' }),
    '{"type":"reasoning","encrypted_content":"gAAA"}',
  ],
])('keeps the digits of numbers that JavaScript would change when it removes %s', (_, withoutIt, reasoning) => {
  const call = '{"type":"function_call","arguments":"{}","id":12345678901234567890,"at":1.25}'
  expect(withoutIt(Buffer.from(`{"n":1.0,"input":[${call},${reasoning}]}`)).toString()).toBe(
    `{"n":1.0,"input":[${call}]}`,
  )
})

it.each(DIALECT_NAMES)('returns every other body of %s as the same bytes', (dialect) => {
  for (const body of ['{"messages": [ {"n":1.0} ]}', '[]', `{"other":"${UNSIGNED_MARK}", "n":1.0}`]) {
    const bytes = Buffer.from(body)
    expect(withoutUnsigned(dialect, bytes)).toBe(bytes)
  }
})

it('leaves the reasoning that Mistral writes as parts of a chat message', () => {
  const content = [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }, TEXT]
  const bytes = Buffer.from(JSON.stringify({ messages: [{ role: 'assistant', content }] }))
  expect(withoutUnsigned('chat', bytes)).toBe(bytes)
})
