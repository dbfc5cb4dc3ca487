import { describe, expect, it } from 'vitest'
import { describeCallOperation } from '../support/call-operation.ts'
import { checkAnswer } from '../support/contract/contract-check.ts'
import { startEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import { TEAM } from '../support/local-worker.ts'

const MESSAGES = {
  servedBy: 'vendorb',
  body: { max_tokens: 64, messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }] },
  answer: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'vendora/large',
    content: [{ type: 'text', text: 'Hello!' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 2 },
  },
  events: [
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } },
    { type: 'message_stop' },
  ],
}

const ROUTES = [
  { ...MESSAGES, operationId: 'createMessage', path: '/vendorb/v1/messages' },
  { ...MESSAGES, operationId: 'createRootMessage', path: '/v1/messages' },
] as const

describe.each(ROUTES)('$operationId', ({ path, body }) => {
  describe('404', () => {
    it('answers thread_not_found, in the words of the vendor too, where no backend holds the thread', async () => {
      await using engine = await startEngine()
      await using gateway = await startGateway({ engine: engine.url, team: TEAM })
      const thread = { type: 'continue', previous_message_id: 'msg_1' }
      const response = await gateway.post(path, { ...body, model: 'svc/fast', thread })
      await checkAnswer('POST', new URL(path, gateway.url), response)
      expect(response.status).toBe(404)
      expect(await response.json()).toMatchObject({
        error: { type: 'not_found_error', code: 'thread_not_found', details: { error_code: 'thread_not_found' } },
      })
    })
  })
})

for (const route of ROUTES) describeCallOperation(route)
