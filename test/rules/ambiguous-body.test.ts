import { describe, expect, it } from 'vitest'
import { findAmbiguous } from '../../src/gateway/calls/request/decisive-members.ts'
import { parseBody } from '../../src/gateway/calls/request/parse-body.ts'

describe('the member that makes a body ambiguous', () => {
  it.each<[string, string, string | null]>([
    ['a name once', '{"model":"a","stream":true}', null],
    ['no name at all', '{}', null],
    ['a model twice', '{"model":"a","model":"b"}', 'model'],
    ['a model twice, far apart', `{"model":"a","messages":["${'x'.repeat(9999)}"],"model":"b"}`, 'model'],
    ['a model twice, around a long name', `{"model":"a","${'x'.repeat(9999)}":1,"model":"b"}`, 'model'],
    ['a model twice, around a text with escapes', `{"model":"a","x":"${'\\"'.repeat(999)}","model":"b"}`, 'model'],
    ['a model once plain and once escaped', '{"model":"a","mod\\u0065l":"b"}', 'model'],
    ['a model in another case beside it', '{"model":"a","Model":"b"}', 'Model'],
    ['a model in another case alone', '{"MODEL":"b"}', 'MODEL'],
    ['a letter that folds to an s', '{"\u017ftream":true}', '\u017ftream'],
    ['stream twice', '{"stream":false,"stream":true}', 'stream'],
    ['deferred twice', '{"deferred":true,"deferred":false}', 'deferred'],
    ['background twice', '{"background":true,"background":false}', 'background'],
    ['a token limit twice', '{"max_tokens":1,"max_tokens":9999}', 'max_tokens'],
    ['a service tier twice', '{"service_tier":"flex","service_tier":"priority"}', 'service_tier'],
    ['a speed in another case', '{"Speed":"fast"}', 'Speed'],
    ['tools in another case', '{"model":"a","Tools":[]}', 'Tools'],
    ['a conversation in another case', '{"model":"a","messages":[],"MESSAGES":[]}', 'MESSAGES'],
    ['tools twice', '{"model":"a","tools":[{"type":"x","model":"b"}],"tools":[]}', 'tools'],
    [
      'a conversation twice',
      '{"model":"a","messages":[{"content":[{"tool":{"model":"b"}}]}],"messages":[]}',
      'messages',
    ],
    ['an input twice, without a model', '{"input":[{"tools":[{"model":"b"}]}],"input":"hi"}', 'input'],
    ['an input of calls', '{"model":"a","input":[{"type":"custom_tool_call","input":"x"}],"tools":[]}', null],
    ['a moderation twice', '{"moderation":{"model":"a"},"moderation":null}', 'moderation'],
    ['the name deeper inside', '{"model":"a","tools":[{"properties":{"model":{},"stream":{}}}]}', null],
    ['the name deeper inside, and escaped text', '{"model":"a","x":{"model":"\\u0041"}}', null],
    ['the name in what is said', '{"model":"a","x":"say \\"model\\":\\"b\\""}', null],
    ['a model twice behind many similar names', `{"x":[${'"amodel",'.repeat(200)}1],"model":"a","model":"b"}`, 'model'],
    ['similar names around it', `{"x":[${'"amodel",'.repeat(200)}1],"model":"a","amodel":"model"}`, null],
    ['another name twice', '{"model":"a","seed":1,"seed":2}', null],
    ['the name as a value', '{"model":"model","x":["model","stream"]}', null],
  ])('%s', (_name, text, expected) => {
    const body = JSON.parse(text) as Record<string, unknown>
    expect(findAmbiguous(body, parseBody(Buffer.from(text)).located)).toBe(expected)
  })
})
