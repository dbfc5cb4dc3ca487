import { describe, expect, it } from 'vitest'
import { judgeProbe, openNativeDialects } from '../../src/gateway/backends/native-dialects.ts'
import type { DialectSupport, ProbeAnswer } from '../../src/gateway/backends/native-dialects.ts'
import { isMessage } from '../../src/gateway/dialects/answer-shapes.ts'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import { parseObject, readObject } from '../../src/gateway/dialects/json/read-json.ts'

const MESSAGE = '{"type":"message","content":[],"usage":{}}'
const RESPONSE_STREAM =
  'data: {"type":"response.completed","sequence_number":0,"response":{"object":"response","output":[]}}\n\n'

describe('the answer to a dialect probe', () => {
  it.each<[string, ProbeAnswer, 'native' | 'foreign' | null]>([
    ['a message: native', { status: 200, body: MESSAGE }, 'native'],
    ['a message with an error status: native', { status: 500, body: MESSAGE }, 'native'],
    [
      '200 of a server that answers every path so: foreign',
      { status: 200, body: '{"error":"Unexpected endpoint"}' },
      'foreign',
    ],
    ['a page: foreign', { status: 200, body: '<html>' }, 'foreign'],
    ['404: foreign', { status: 404, body: '{"error":{}}' }, 'foreign'],
    ['405: foreign', { status: 405, body: '' }, 'foreign'],
    ['429: says nothing', { status: 429, body: '{}' }, null],
    ['503: says nothing', { status: 503, body: '{}' }, null],
    ['no answer: says nothing', null, null],
  ])('%s', (_name, answer, expected) => {
    expect(judgeProbe(answer, (body) => isMessage(readObject(parseObject(body))))).toBe(expected)
  })
})

describe('the dialects of an engine', () => {
  const open = (answer: (path: string, body: object) => ProbeAnswer) => {
    const sent: object[] = []
    const found: [Dialect, DialectSupport][] = []
    const dialects = openNativeDialects({
      sendProbe: (path, body) => {
        sent.push(body)
        return Promise.resolve(answer(path, body))
      },
      onFound: (dialect, support) => void found.push([dialect, support]),
    })
    return { dialects, sent, found }
  }

  const rejectsWith = (status: number) => (_path: string, body: object) =>
    'tool_choice' in body ? { status, body: '{}' } : { status: 200, body: MESSAGE }

  it('always include chat, without a probe', () => {
    const { dialects, sent } = open(() => null)
    expect(dialects.supportOf('chat', 'q')).toEqual({ isNative: true, isStateful: true })
    expect(sent).toEqual([])
  })

  it('are probed once, however many calls need to know, for one token', async () => {
    const { dialects, sent, found } = open(rejectsWith(400))
    for (let call = 0; call < 9; call++) expect(dialects.supportOf('messages', 'q')).toBeNull()
    await expect.poll(() => found.length).toBe(1)
    expect(dialects.supportOf('messages', 'q')).toEqual({ isNative: true, isStateful: false })
    const probe = { model: 'q', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] }
    expect(sent).toEqual([probe, expect.objectContaining({ ...probe, tool_choice: expect.anything() as unknown })])
  })

  it('include one that answers an impossible request with 500, and stay unknown after a 503', async () => {
    const failing = open(rejectsWith(500))
    failing.dialects.supportOf('messages', 'q')
    await expect.poll(() => failing.found).toEqual([['messages', { isNative: true, isStateful: false }]])
    const busy = open(rejectsWith(503))
    busy.dialects.supportOf('messages', 'q')
    await expect.poll(() => busy.sent.length).toBe(2)
    expect(busy.found).toEqual([])
  })

  it('do not include messages where the engine ignores tool_choice, which the translation obeys', async () => {
    const { dialects, found } = open(() => ({ status: 200, body: MESSAGE }))
    dialects.supportOf('messages', 'q')
    await expect.poll(() => found).toEqual([['messages', { isNative: false, isStateful: false }]])
  })

  it.each([
    [
      'are stateful where the engine rejects an unknown previous_response_id',
      (body: object) => ('previous_response_id' in body ? '{"error":{}}' : RESPONSE_STREAM),
      true,
    ],
    ['are not stateful where the engine ignores it', () => RESPONSE_STREAM, false],
  ])('%s', async (_name, answer, isStateful) => {
    const { dialects, found } = open((_path, body) => ({ status: 200, body: answer(body) }))
    dialects.supportOf('responses', 'q')
    await expect.poll(() => found).toEqual([['responses', { isNative: true, isStateful }]])
  })

  it('do not include responses where a stream does not have their shape, although a whole answer has', async () => {
    const { dialects, sent, found } = open(() => ({ status: 200, body: '{"object":"response","output":[]}' }))
    dialects.supportOf('responses', 'q')
    await expect.poll(() => found).toEqual([['responses', { isNative: false, isStateful: false }]])
    expect(sent).toEqual([expect.objectContaining({ model: 'q', stream: true, max_output_tokens: 16 })])
  })

  it('are probed again after they were forgotten, and an older answer does not count', async () => {
    const { dialects, sent, found } = open(() => ({ status: 404, body: '' }))
    dialects.supportOf('messages', 'q')
    dialects.forget()
    await expect.poll(() => dialects.supportOf('messages', 'q')).toEqual({ isNative: false, isStateful: false })
    expect([sent.length, found.length]).toEqual([2, 1])
  })
})
