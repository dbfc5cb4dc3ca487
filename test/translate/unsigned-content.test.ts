import { expect, it } from 'vitest'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { UNSIGNED_MARK, withoutUnsignedContent } from '../../src/gateway/dialects/unsigned-content.ts'
import { toAcceptedRequest } from '../../src/gateway/dialects/responses/accepted-request.ts'

const strip = (body: unknown): unknown =>
  JSON.parse(withoutUnsignedContent(Buffer.from(JSON.stringify(body))).toString())

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
  expect(strip({ model: 'm', messages, max_tokens: 9 })).toEqual({
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
  expect(strip({ input: [local, sealed, { role: 'user', content: 'hi' }] })).toEqual({
    input: [sealed, { role: 'user', content: 'hi' }],
  })
})

it.each(['', undefined, '0123456789abcdef0123456789abcdef'])(
  'removes reasoning with the signature %j, which engines write that support the dialect',
  (signature) => {
    const content = [{ type: 'thinking', thinking: 'hm', signature }, TEXT]
    expect(strip({ messages: [{ role: 'assistant', content }] })).toEqual({
      messages: [{ role: 'assistant', content: [TEXT] }],
    })
  },
)

it('removes reasoning that an engine wrote as plain text', () => {
  const plain = { type: 'reasoning', summary: [], encrypted_content: 'I should look first.' }
  const empty = { type: 'reasoning', summary: [], encrypted_content: '' }
  const without = { type: 'reasoning', summary: [] }
  expect(strip({ input: [plain, empty, without] })).toEqual({ input: [without] })
})

it.each<[string, (body: Buffer) => Buffer, string]>([
  ['reasoning of a local model', withoutUnsignedContent, `{"type":"reasoning","encrypted_content":"${UNSIGNED_MARK}"}`],
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

it('returns every other body as the same bytes', () => {
  for (const body of ['{"messages": [ {"n":1.0} ]}', '[]', 'nonsense', `{"other":"${UNSIGNED_MARK}", "n":1.0}`]) {
    expect(withoutUnsignedContent(Buffer.from(body)).toString()).toBe(body)
  }
  const plain = Buffer.from('{"messages":[]}')
  expect(withoutUnsignedContent(plain)).toBe(plain)
})
