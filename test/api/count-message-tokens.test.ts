import { describeCallOperation } from '../support/call-operation.ts'

const TOKEN_COUNT = {
  servedBy: 'vendorb',
  body: { messages: [{ role: 'user', content: 'Say hello.' }] },
  answer: { input_tokens: 12 },
  mayBeUnsupported: true,
}

describeCallOperation({
  ...TOKEN_COUNT,
  operationId: 'countMessageTokens',
  path: '/vendorb/v1/messages/count_tokens',
})
describeCallOperation({ ...TOKEN_COUNT, operationId: 'countRootMessageTokens', path: '/v1/messages/count_tokens' })
