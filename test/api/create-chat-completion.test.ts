import { describeCallOperation } from '../support/call-operation.ts'

const common = { id: 'chatcmpl-1', created: 1, model: 'vendora/large' }

describeCallOperation({
  operationId: 'createChatCompletion',
  path: '/v1/chat/completions',
  servedBy: 'vendora',
  body: { messages: [{ role: 'user', content: 'Say hello.' }] },
  answer: {
    ...common,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  },
  events: [
    { ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'Hello!' } }] },
    { ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ],
})
