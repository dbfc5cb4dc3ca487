import { describe, expect, it } from 'vitest'
import { readList, readObject } from '../../src/gateway/dialects/json/read-json.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { encodeEvent } from '../../src/gateway/dialects/sse/encode.ts'
import { checkResponsesStream } from '../support/stream-grammar.ts'
import { pair, refusalOf, withoutUnsigned } from './pairs.ts'
import { translate } from './streams.ts'
import { toVendorStream } from './vendor-streams.ts'

const HELLO = { type: 'message', role: 'user', content: 'Rename the file.' }
const CALL = { type: 'function_call', call_id: 'call_1', name: 'exec', arguments: '{"cmd":"mv a b"}' }
const RESULT = { type: 'function_call_output', call_id: 'call_1', output: 'done' }
const TRIGGER = { type: 'compaction_trigger' }
const EXEC = { type: 'function', name: 'exec', parameters: { type: 'object', properties: {} }, strict: false }
const BODY = { input: [HELLO, CALL, RESULT, TRIGGER], tools: [EXEC], tool_choice: 'auto', stream: true }
const SUMMARY = 'a is b now. Grüße 👋'

const ANSWERS = {
  chat: {
    id: 'c',
    choices: [{ index: 0, message: { role: 'assistant', content: SUMMARY }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  },
  messages: {
    ...{ id: 'msg_1', type: 'message', role: 'assistant', stop_reason: 'end_turn' },
    content: [
      { type: 'thinking', thinking: 'Hm', signature: 'EqQB' },
      { type: 'text', text: SUMMARY },
    ],
    usage: { input_tokens: 3, output_tokens: 2 },
  },
} as const

describe.each(['chat', 'messages'] as const)('a compaction at a %s backend', (backend) => {
  function compacted(): Json {
    const whole = pair('responses', backend, BODY).answer.whole(ANSWERS[backend])
    if (!('answer' in whole)) throw new Error(whole.failed.message)
    return readObject(readList(whole.answer.output)[0])
  }

  it('asks for a text, also where the answers of the session have another format', () => {
    const format = { type: 'json_schema', name: 'out', schema: { type: 'object', properties: {} } }
    const { request } = pair('responses', backend, { ...BODY, text: { format } })
    expect(request).toEqual(pair('responses', backend, BODY).request)
  })

  it('asks the model for a summary of the whole conversation, without a call', () => {
    const { messages, tools, tool_choice: choice } = pair('responses', backend, BODY).request
    expect(JSON.stringify(readList(messages).at(-1))).toContain('Summarize this conversation')
    expect(JSON.stringify(messages)).toContain('mv a b')
    expect(tools).toHaveLength(1)
    expect(choice).toEqual(backend === 'chat' ? 'none' : { type: 'none' })
  })

  it('answers with exactly one item in a stream and in a whole answer', () => {
    const stream = pair('responses', backend, BODY).answer.stream()
    const sent = toVendorStream(backend, ANSWERS[backend]).map(encodeEvent).join('')
    const events = translate(stream, Buffer.from(sent))
    expect(checkResponsesStream(events)).toEqual([])
    const parsed = events.map(({ data }) => JSON.parse(data) as Json)
    const [, , added, done, completed] = parsed
    expect(parsed.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.output_item.done',
      'response.completed',
    ])
    expect(added?.item).toMatchObject({ type: 'compaction', id: compacted().id })
    expect(done?.item).toEqual(compacted())
    expect(completed?.response).toMatchObject({ output: [compacted()], usage: { output_tokens: 2 } })
  })

  it('is a text of the user when it comes back, at any backend', () => {
    for (const to of ['chat', 'messages'] as const) {
      const { messages } = pair('responses', to, { input: [compacted(), HELLO] }).request
      expect(readObject(readList(messages)[0]).role).toBe('user')
      expect(JSON.stringify(messages)).toContain(SUMMARY)
    }
  })

  it('is a text of the user for a vendor that encrypts its own', () => {
    const body = { model: 'm', input: [compacted(), { type: 'compaction', encrypted_content: 'gAAA' }, HELLO] }
    const sent = withoutUnsigned('responses', Buffer.from(JSON.stringify(body)))
    const { input } = JSON.parse(sent.toString()) as typeof body
    expect(input[0]).toMatchObject({ role: 'user', content: [{ text: expect.stringContaining(SUMMARY) as string }] })
    expect(input.slice(1)).toEqual(body.input.slice(1))
  })

  it('fails where the model writes nothing', () => {
    const empty =
      backend === 'chat'
        ? { ...ANSWERS.chat, choices: [{ index: 0, message: { content: '' }, finish_reason: 'stop' }] }
        : { ...ANSWERS.messages, content: [] }
    expect(pair('responses', backend, BODY).answer.whole(empty)).toMatchObject({
      failed: { message: 'The model wrote no summary of the conversation. Try your request again.' },
    })
  })
})

describe('a compaction that cannot be read', () => {
  it('is refused, and the error names its position in the input', () => {
    const input = [{ type: 'compaction', encrypted_content: 'gAAA' }, HELLO]
    expect(refusalOf('responses', 'messages', { input })).toBe('input.0')
    expect(refusalOf('responses', 'chat', { input: [HELLO, TRIGGER, HELLO] })).toBe('input.1')
  })
})
