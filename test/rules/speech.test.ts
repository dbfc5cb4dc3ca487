import { describe, expect, it } from 'vitest'
import { isMessage } from '../../src/gateway/dialects/answer-shapes.ts'
import { parseObject, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import { judgeSpeech, openStyleProber } from '../../src/gateway/workers/styles.ts'
import type { Heard, NativeStyle, Speech } from '../../src/gateway/workers/styles.ts'

const MESSAGE = '{"type":"message","content":[],"usage":{}}'
const RESPONSE_STREAM =
  'data: {"type":"response.completed","sequence_number":0,"response":{"object":"response","output":[]}}\n\n'

describe('what an answer says of an engine', () => {
  it.each<[string, Heard, 'native' | 'mute' | null]>([
    ['a message', { status: 200, body: MESSAGE }, 'native'],
    ['a message, whatever its status', { status: 500, body: MESSAGE }, 'native'],
    ['200 to every path', { status: 200, body: '{"error":"Unexpected endpoint"}' }, 'mute'],
    ['a page', { status: 200, body: '<html>' }, 'mute'],
    ['no such path', { status: 404, body: '{"error":{}}' }, 'mute'],
    ['not by POST', { status: 405, body: '' }, 'mute'],
    ['too busy', { status: 429, body: '{}' }, null],
    ['loading', { status: 503, body: '{}' }, null],
    ['nothing', null, null],
  ])('%s', (_name, heard, expected) => {
    expect(judgeSpeech(heard, (body) => isMessage(readObject(parseObject(body))))).toBe(expected)
  })
})

describe('the question for a style', () => {
  const open = (answer: (path: string, body: object) => Heard) => {
    const asked: object[] = []
    const found: [NativeStyle, Speech][] = []
    const prober = openStyleProber({
      ask: (path, body) => {
        asked.push(body)
        return Promise.resolve(answer(path, body))
      },
      onFound: (style, speech) => void found.push([style, speech]),
    })
    return { prober, asked, found }
  }

  const mindsWith = (status: number) => (_path: string, body: object) =>
    'tool_choice' in body ? { status, body: '{}' } : { status: 200, body: MESSAGE }

  it('is put once, however many calls need to know, and is about one token', async () => {
    const { prober, asked, found } = open(mindsWith(400))
    for (let call = 0; call < 9; call++) expect(prober.speaks('messages', 'q')).toBeNull()
    await expect.poll(() => found.length).toBe(1)
    expect(prober.speaks('messages', 'q')).toEqual({ native: true, stateful: false })
    const question = { model: 'q', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] }
    expect(asked).toEqual([
      question,
      expect.objectContaining({ ...question, tool_choice: expect.anything() as unknown }),
    ])
  })

  it('takes an engine that fails at what cannot be for one that refuses it, and one that is busy for neither', async () => {
    const failing = open(mindsWith(500))
    failing.prober.speaks('messages', 'q')
    await expect.poll(() => failing.found).toEqual([['messages', { native: true, stateful: false }]])
    const busy = open(mindsWith(503))
    busy.prober.speaks('messages', 'q')
    await expect.poll(() => busy.asked.length).toBe(2)
    expect(busy.found).toEqual([])
  })

  it('finds out an engine that overlooks tool_choice, which the translation does not', async () => {
    const { prober, found } = open(() => ({ status: 200, body: MESSAGE }))
    prober.speaks('messages', 'q')
    await expect.poll(() => found).toEqual([['messages', { native: false, stateful: false }]])
  })

  it.each([
    ['remembers', (body: object) => ('previous_response_id' in body ? '{"error":{}}' : RESPONSE_STREAM), true],
    ['forgets silently', () => RESPONSE_STREAM, false],
  ])('finds out whether an engine %s', async (_name, answer, stateful) => {
    const { prober, found } = open((_path, body) => ({ status: 200, body: answer(body) }))
    prober.speaks('responses', 'q')
    await expect.poll(() => found).toEqual([['responses', { native: true, stateful }]])
  })

  it('is put as a stream, and not by a shape that only looks right as a whole', async () => {
    const { prober, asked, found } = open(() => ({ status: 200, body: '{"object":"response","output":[]}' }))
    prober.speaks('responses', 'q')
    await expect.poll(() => found).toEqual([['responses', { native: false, stateful: false }]])
    expect(asked).toEqual([expect.objectContaining({ model: 'q', stream: true, max_output_tokens: 16 })])
  })

  it('is put again after the engine was forgotten, and an older answer does not count', async () => {
    const { prober, asked, found } = open(() => ({ status: 404, body: '' }))
    prober.speaks('messages', 'q')
    prober.forget()
    await expect.poll(() => prober.speaks('messages', 'q')).toEqual({ native: false, stateful: false })
    expect([asked.length, found.length]).toEqual([2, 1])
  })
})
