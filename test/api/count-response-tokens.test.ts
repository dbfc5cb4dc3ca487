import { describeCallOperation } from '../support/call-operation.ts'

const TOKEN_COUNT = {
  body: { input: 'Say hello.' },
  answer: { object: 'response.input_tokens', input_tokens: 12 },
  mayBeUnsupported: true,
}

describeCallOperation({
  ...TOKEN_COUNT,
  operationId: 'countResponseTokens',
  path: '/v1/responses/input_tokens',
  servedBy: 'vendora',
})
describeCallOperation({
  ...TOKEN_COUNT,
  operationId: 'countCodexResponseTokens',
  path: '/codex/v1/responses/input_tokens',
  servedBy: 'vendorc',
})
