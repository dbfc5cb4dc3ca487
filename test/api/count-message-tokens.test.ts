import { describeCallOperation } from '../support/call-operation.ts'

describeCallOperation({
  operationId: 'countMessageTokens',
  path: '/vendorb/v1/messages/count_tokens',
  servedBy: 'vendorb',
  body: { messages: [{ role: 'user', content: 'Say hello.' }] },
  answer: { input_tokens: 12 },
  mayBeUnsupported: true,
})
