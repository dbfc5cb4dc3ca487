/** Cache marks in the results of tools. Agents mark the end of each request, which is a result while they work. */
import { describe, expect, it } from 'vitest'
import { DEFAULT_CAPS } from '../../src/gateway/dialects/caps.ts'
import type { ModelCaps } from '../../src/gateway/dialects/caps.ts'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { pair } from './pairs.ts'
import { VENDOR_CAPS } from './vendor-caps.ts'

const BREAKPOINT = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } }
const MARK = { cache_control: { type: 'ephemeral' } }

/** A messages request that ends with the result of a tool. */
function endingWith(result: Json): Json {
  const call = { type: 'tool_use', id: 'call_1', name: 'read', input: {} }
  return {
    tools: [{ name: 'read', input_schema: { type: 'object' } }],
    messages: [
      { role: 'user', content: 'Read it.' },
      { role: 'assistant', content: [call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', ...result }] },
    ],
  }
}

describe('the mark of a result', () => {
  const text = (said: string) => ({ type: 'text', text: said })
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }

  it.each<[string, Json, unknown]>([
    ['a text', { content: 'one', ...MARK }, [{ type: 'input_text', text: 'one', ...BREAKPOINT }]],
    [
      'several texts, one of which has it',
      { content: [text('one'), { ...text('two'), ...MARK }] },
      [{ type: 'input_text', text: 'one\ntwo', ...BREAKPOINT }],
    ],
    [
      'a text with a mark of its own, which stays',
      { content: [{ ...text('one'), cache_control: { type: 'ephemeral', ttl: '1h' } }], ...MARK },
      [{ type: 'input_text', text: 'one', prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' } }],
    ],
    [
      'a failure',
      { content: 'no', is_error: true, ...MARK },
      [{ type: 'input_text', text: 'Error: no', ...BREAKPOINT }],
    ],
    [
      'an image',
      { content: [image], ...MARK },
      [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto', ...BREAKPOINT }],
    ],
    [
      'a tool that was loaded',
      { content: [{ type: 'tool_reference', tool_name: 'read' }], ...MARK },
      [{ type: 'input_text', text: 'The tool read is available.', ...BREAKPOINT }],
    ],
    ['no content', { content: [], ...MARK }, ''],
  ])('that is %s reaches a responses backend', (_name, result, output) => {
    const { request } = pair('messages', 'responses', endingWith(result), { caps: VENDOR_CAPS.responses })
    expect(readObject(readList(request.input).at(-1)).output).toEqual(output)
  })

  it.each<[string, Json, unknown]>([
    ['a text', { content: 'one', ...MARK }, [{ type: 'text', text: 'one', ...BREAKPOINT }]],
    ['a failure', { content: 'no', is_error: true, ...MARK }, [{ type: 'text', text: 'Error: no', ...BREAKPOINT }]],
    ['a text without a mark', { content: 'one' }, 'one'],
  ])('that is %s reaches a chat backend', (_name, result, content) => {
    const { request } = pair('messages', 'chat', endingWith(result), { caps: VENDOR_CAPS.chat })
    expect(readObject(readList(request.messages).at(-1)).content).toEqual(content)
  })

  it('is left out for a backend without marks', () => {
    const { request } = pair('messages', 'chat', endingWith({ content: 'one', ...MARK }))
    expect(readObject(readList(request.messages).at(-1)).content).toBe('one')
  })
})

describe('several marks within one result', () => {
  it('each count towards the four that a vendor accepts', () => {
    const output = ['a', 'b', 'c', 'd', 'e'].map((text) => ({ type: 'input_text', text, ...BREAKPOINT }))
    const input = [
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output },
    ]
    const { request } = pair('responses', 'messages', { input }, { caps: DEFAULT_CAPS.messages })
    const result = readObject(readList(readObject(readList(request.messages).at(-1)).content)[0])
    const marked = readList(result.content).flatMap((part) =>
      readObject(part).cache_control ? [readObject(part).text] : [],
    )
    expect(marked).toEqual(['b', 'c', 'd', 'e'])
  })
})

describe('the mark of a tool', () => {
  it.each<[string, Json]>([
    ['of the client', { name: 'read', input_schema: { type: 'object' } }],
    ['of the vendor', { name: 'web_search', type: 'web_search_20250305' }],
  ])('%s moves to the last system text for a responses backend, whose tools have none', (_name, tool) => {
    const body = { system: 'Be brief.', tools: [{ ...tool, ...MARK }], messages: [{ role: 'user', content: 'Hi' }] }
    const { request } = pair('messages', 'responses', body, { caps: VENDOR_CAPS.responses })
    const [system] = readList(request.input)
    expect(readObject(system).content).toEqual([{ type: 'input_text', text: 'Be brief.', ...BREAKPOINT }])
    expect(JSON.stringify(request.tools)).not.toContain('cache')
  })
})

describe('marks for a messages backend', () => {
  it('are left to a vendor that places them by itself, unless the client has set some', () => {
    const marksOf = (content: unknown, cacheMarks: ModelCaps['cacheMarks']) => {
      const caps = { ...DEFAULT_CAPS.messages, cacheMarks }
      const { request } = pair('chat', 'messages', { messages: [{ role: 'user', content }] }, { caps })
      return [
        request.cache_control,
        readObject(readList(readObject(readList(request.messages)[0]).content)[0]).cache_control,
      ]
    }
    const marked = [{ type: 'text', text: 'Hi', ...BREAKPOINT }]
    const { cache_control: mark } = MARK
    expect(marksOf('Hi', 'automatic')).toEqual([mark, undefined])
    expect(marksOf(marked, 'automatic')).toEqual([undefined, mark])
    expect(marksOf('Hi', 'explicit')).toEqual([undefined, mark])
    expect(marksOf(marked, 'none')).toEqual([undefined, undefined])
  })

  it('are short behind a short one, because the vendor refuses a long one there', () => {
    const marked = (text: string, ttl: string) => {
      return { role: 'user', content: [{ type: 'text', text, prompt_cache_breakpoint: { mode: 'explicit', ttl } }] }
    }
    const said = { role: 'assistant', content: 'Yes.' }
    const messages = [marked('a', '12h'), said, marked('b', '30m'), said, marked('c', '12h')]
    const { request } = pair('chat', 'messages', { messages })
    const marks = readList(request.messages).flatMap((message) =>
      readList(readObject(message).content).flatMap((block) => readObject(block).cache_control ?? []),
    )
    expect(marks).toEqual([{ type: 'ephemeral', ttl: '1h' }, { type: 'ephemeral' }, { type: 'ephemeral' }])
  })
})
