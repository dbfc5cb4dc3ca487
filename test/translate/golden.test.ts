/**
 * What becomes of one whole conversation and of one answer, for every pair of dialects. Written anew by `vitest run
 * -u`; review the change.
 */
import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../src/gateway/dialects/dialect.ts'
import type { Json } from '../../src/gateway/dialects/json/read-json.ts'
import { makeSeals } from '../../src/gateway/dialects/seals.ts'
import { CONVERSATIONS } from './conversations.ts'
import { pair, PAIRS } from './pairs.ts'
import { VENDOR_CAPS } from './vendor-caps.ts'

const ANSWERS: Readonly<Record<Dialect, Json>> = {
  chat: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'Both.',
          reasoning_content: 'Hm.',
          tool_calls: [
            { id: 'call_3', type: 'function', function: { name: 'read', arguments: '{"path":"a"}' } },
            { id: 'call_4', type: 'function', function: { name: 'read', arguments: '' } },
          ],
        },
        finish_reason: 'tool_calls',
      },
    ],
    usage: { prompt_tokens: 100, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 60 } },
  },
  responses: {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAA' },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Both.' }] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_3', name: 'read', arguments: '{"path":"a"}' },
      { type: 'function_call', id: 'fc_2', call_id: 'call_4', name: 'read', arguments: '' },
    ],
    usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 60 }, output_tokens: 9 },
  },
  messages: {
    id: 'msg_1',
    type: 'message',
    content: [
      { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' },
      { type: 'redacted_thinking', data: 'EmwK' },
      { type: 'text', text: 'Both.' },
      { type: 'tool_use', id: 'call_3', name: 'read', input: { path: 'a' } },
      { type: 'tool_use', id: 'call_4', name: 'read', input: {} },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 40, cache_read_input_tokens: 60, cache_creation_input_tokens: 0, output_tokens: 9 },
  },
}

const seals = makeSeals({ backend: 'b1', model: 'model-1', team: 't1', keys: [Buffer.from('key')] })
const write = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

describe.each(PAIRS)('from a $client client to a $backend backend', ({ client, backend }) => {
  const made = pair(client, backend, CONVERSATIONS[client], { caps: VENDOR_CAPS[backend], seals })

  it('the request is the one on record', async () => {
    const { request, headers } = made
    await expect(write({ headers, request })).toMatchFileSnapshot(`golden/${client}-to-${backend}.request.golden`)
  })

  it('the answer is the one on record', async () => {
    const whole = made.answer.whole(ANSWERS[backend])
    await expect(write(whole)).toMatchFileSnapshot(`golden/${backend}-to-${client}.answer.golden`)
  })
})
