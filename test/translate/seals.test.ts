import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { isSealed, makeSeals, sealedLength } from '../../src/gateway/dialects/seals.ts'
import { pair, withoutUnsigned } from './pairs.ts'

const NEEDS = { backend: 'vendora:responses', model: 'm1', team: 't1', keys: [Buffer.from('secret')] }
const seals = makeSeals(NEEDS)
const SEAL = { kind: 'encrypted', data: 'gAAA.with.dots==', before: 'call_1' } as const
const sealed = seals.write(SEAL, 'what was shown')

describe('a seal', () => {
  it('opens to exactly what was sealed', () => {
    expect(seals.read(sealed, 'what was shown')).toEqual({ ...SEAL, model: 'm1' })
    expect(sealedLength(sealed)).toBe('what was shown'.length)
  })

  it.each([
    ['another team', { ...NEEDS, team: 't2' }],
    ['another backend', { ...NEEDS, backend: 'vendorb:messages' }],
    ['another account', { ...NEEDS, keys: [Buffer.from('other')] }],
    ['no account', { ...NEEDS, keys: [] }],
  ])('does not open for %s', (_, needs) => {
    expect(makeSeals(needs).read(sealed, 'what was shown')).toBeNull()
  })

  it('opens with each of the keys, because a secret of the deployment may be new', () => {
    const keys = [Buffer.from('new'), ...NEEDS.keys]
    const renewed = makeSeals({ ...NEEDS, keys })
    expect(renewed.read(sealed, 'what was shown')).toEqual({ ...SEAL, model: 'm1' })
    expect(seals.read(renewed.write(SEAL, 'what was shown'), 'what was shown')).toBeNull()
  })

  it('does not open with another text, nor with any of its bytes changed', () => {
    expect(seals.read(sealed, 'what was edited')).toBeNull()
    for (let at = 0; at < sealed.length; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      expect(seals.read(sealed.slice(0, at) + other + sealed.slice(at + 1), 'what was shown')).toBeNull()
    }
  })

  it('says which model it is of, so that only that model gets it back', () => {
    const other = makeSeals({ ...NEEDS, model: 'm2' })
    expect(other.read(sealed, 'what was shown')).toMatchObject({ model: 'm1' })
  })

  it('is dropped when it is larger than 1 MiB', () => {
    const large = seals.write({ ...SEAL, data: 'x'.repeat(1024 * 1024) }, '')
    expect(seals.read(large, '')).toBeNull()
    expect(isSealed(large)).toBe(true)
  })

  it('is read up to 16 MiB of them in one request, and the request is refused', () => {
    const large = seals.write({ ...SEAL, data: 'x'.repeat(1024 * 1024 - 200) }, '')
    const item = { type: 'reasoning', summary: [], encrypted_content: large }
    const ask = { type: 'message', role: 'user', content: 'Go on.' }
    const translated = (count: number) => {
      const input = [...Array.from({ length: count }, () => item), ask]
      return pair('responses', 'messages', { input }, { seals: makeSeals(NEEDS) })
    }
    expect(translated(16)).toHaveProperty('request')
    expect(() => translated(17)).toThrow(
      /^refused: input: The conversation has more than 16 MiB of encrypted reasoning/,
    )
  })

  it('carries no payload for a backend without a credential, because anyone could forge it', () => {
    const plain = makeSeals({ ...NEEDS, keys: [] })
    expect(plain.read(plain.write(SEAL, 'text'), 'text')).toEqual({
      kind: 'plain',
      data: '',
      before: 'call_1',
      model: 'm1',
    })
  })

  it('with a payload does not open for a backend without a credential, because anyone could have made it', () => {
    const forged = makeSeals({ ...NEEDS, keys: [Buffer.alloc(0)] }).write(SEAL, 'text')
    expect(makeSeals({ ...NEEDS, keys: [] }).read(forged, 'text')).toBeNull()
  })

  it.each(['', 'svc1', 'svc1.', 'svc1..', 'svc1.e30..', 'svc1.x.y.z', 'EqQBCkYIB'])('is not made of %j', (text) => {
    expect(seals.read(text, '')).toBeNull()
  })
})

describe('a call that goes to a vendor in its own dialect', () => {
  it.each<[Dialect, Json]>([
    [
      'responses',
      {
        input: [
          { type: 'reasoning', summary: [], encrypted_content: sealed },
          { role: 'user', content: 'hi' },
        ],
      },
    ],
    [
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'x', signature: sealed },
              { type: 'text', text: 'a' },
            ],
          },
        ],
      },
    ],
    [
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'redacted_thinking', data: sealed },
              { type: 'text', text: 'a' },
            ],
          },
        ],
      },
    ],
    [
      'chat',
      {
        messages: [{ role: 'assistant', content: 'a', reasoning_content: 'x', reasoning_details: [{ data: sealed }] }],
      },
    ],
    [
      'chat',
      {
        messages: [
          { role: 'assistant', tool_calls: [{ id: 'c', extra_content: { google: { thought_signature: sealed } } }] },
        ],
      },
    ],
  ])('in %s loses its seals and nothing else: %j', (dialect, body) => {
    const cleaned = withoutUnsigned(dialect, Buffer.from(JSON.stringify(body)))
    expect(cleaned.toString()).not.toContain('svc1.')
    expect(withoutUnsigned(dialect, cleaned)).toBe(cleaned)
  })

  it('loses the reasoning of a chat message with its seal', () => {
    const message = { role: 'assistant', content: 'a', reasoning_content: 'x', reasoning_details: [{ data: sealed }] }
    const cleaned = withoutUnsigned('chat', Buffer.from(JSON.stringify({ messages: [message] }))).toString()
    expect(JSON.parse(cleaned)).toEqual({ messages: [{ role: 'assistant', content: 'a' }] })
  })

  it('stays the same bytes when it holds none', () => {
    const bytes = Buffer.from(
      '{ "messages": [{"role":"assistant","content":[{"type":"thinking","signature":"EqQBCkYIB"}]}] }',
    )
    expect(withoutUnsigned('messages', bytes)).toBe(bytes)
  })
})
