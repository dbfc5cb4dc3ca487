import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findAmbiguous } from '../../src/gateway/calls/request/decisive-members.ts'
import { parseBody } from '../../src/gateway/calls/request/parse-body.ts'
import { setMembers } from '../../src/gateway/dialects/json/edit-json.ts'

type Body = Record<string, unknown>

const withChanges = (bytes: Buffer, changes: Body): Buffer | null =>
  setMembers(bytes, changes, parseBody(bytes).located)

/** Is cut before parsing. */
const LONG = 'say \\"é\\"\\n'.repeat(100)

const changed = (text: string, changes: Body) => withChanges(Buffer.from(text), changes)?.toString()

describe('a body with another model', () => {
  it.each([
    ['named first', '{"model":"a","x":1}', '{"model":"b","x":1}'],
    ['named last, between spaces', ' { "x" : 1.0 , "model" : "a" } ', ' { "x" : 1.0 , "model" : "b" } '],
    ['not named', '{"x":1}', '{"model":"b","x":1}'],
    ['not named in an empty body', '{ }', '{"model":"b" }'],
    ['named deeper only', '{"x":{"model":"a"}}', '{"model":"b","x":{"model":"a"}}'],
    ['named deeper too', '{"x":{"model":"a"},"model":"a"}', '{"x":{"model":"a"},"model":"b"}'],
    ['named with an escaped letter', '{"mod\\u0065l":"a","x":"model"}', '{"mod\\u0065l":"b","x":"model"}'],
    [
      'named with an escaped letter, and deeper',
      '{"mod\\u0065l":"a","x":{"model":1}}',
      '{"mod\\u0065l":"b","x":{"model":1}}',
    ],
    ['mentioned in a text', '{"x":"\\"model\\":","model":"a"}', '{"x":"\\"model\\":","model":"b"}'],
    ['named behind a long text', `{"x":"${LONG}","model":"a"}`, `{"x":"${LONG}","model":"b"}`],
    [
      'named between long texts',
      `{"x":"${LONG}","model":"a","y":"${LONG}"}`,
      `{"x":"${LONG}","model":"b","y":"${LONG}"}`,
    ],
    [
      'named deeper too, behind long texts',
      `{"x":["${LONG}",{"model":"${LONG}"}],"model":"a"}`,
      `{"x":["${LONG}",{"model":"${LONG}"}],"model":"b"}`,
    ],
    ['a long text', `{"x":1,"model":"${LONG}","y":2}`, '{"x":1,"model":"b","y":2}'],
    ['a long text, and deeper too', `{"x":{"model":1},"model":"${LONG}","y":2}`, '{"x":{"model":1},"model":"b","y":2}'],
    ['null', '{"model":null,"x":1}', '{"model":"b","x":1}'],
  ])('which was %s', (_name, text, expected) => {
    expect(changed(text, { model: 'b' })).toBe(expected)
  })

  it('has another token limit too, in any order of its members, and keeps a member that is given as undefined', () => {
    const text = '{"max_tokens":9999,"stream":true,"model":"a"}'
    expect(changed(text, { model: 'b', max_tokens: 5, stream: undefined })).toBe(
      '{"max_tokens":5,"stream":true,"model":"b"}',
    )
  })

  it('parses to the body with these members set, whatever else is in it', () => {
    const name = fc.constantFrom('model', 'stream', 'max_tokens', 'x', 'mod\u0065l', '"model"', '"model"é\n'.repeat(99))
    const value = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        name,
        fc.integer(),
        fc.constant(null),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(name, tie('value'), { maxKeys: 3 }),
      ),
    })).value
    fc.assert(
      fc.property(fc.dictionary(name, value, { maxKeys: 5 }), fc.boolean(), (body, isSpaced) => {
        const bytes = Buffer.from(JSON.stringify(body, null, isSpaced ? 2 : 0))
        fc.pre(findAmbiguous(body, parseBody(bytes).located) === null)
        const read = JSON.parse(String(withChanges(bytes, { model: 'b', max_tokens: 1 }))) as Body
        expect(read).toEqual({ ...body, model: 'b', max_tokens: 1 })
      }),
    )
  })
})
