import { describeCallOperation } from '../support/call-operation.ts'

describeCallOperation({
  operationId: 'createEmbedding',
  path: '/v1/embeddings',
  servedBy: 'vendora',
  body: { input: ['Say hello.'] },
  answer: {
    object: 'list',
    data: [{ object: 'embedding', index: 0, embedding: [0.25, -0.5] }],
    model: 'vendora/large',
    usage: { prompt_tokens: 3, total_tokens: 3 },
  },
  mayBeUnsupported: true,
})
