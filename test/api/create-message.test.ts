import { describeCallOperation } from '../support/call-operation.ts'

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

describeCallOperation({ ...MESSAGES, operationId: 'createMessage', path: '/vendorb/v1/messages' })
describeCallOperation({ ...MESSAGES, operationId: 'createRootMessage', path: '/v1/messages' })
