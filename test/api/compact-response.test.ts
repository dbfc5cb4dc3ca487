import { describeCallOperation } from '../support/call-operation.ts'

const COMPACTION = {
  body: { input: [{ type: 'message', role: 'user', content: 'Say hello.' }], instructions: 'Be brief.' },
  answer: { output: [{ type: 'compaction', encrypted_content: 'gAAA' }] },
  mayBeUnsupported: true,
}

describeCallOperation({
  ...COMPACTION,
  operationId: 'compactResponse',
  path: '/v1/responses/compact',
  servedBy: 'vendora',
})
describeCallOperation({
  ...COMPACTION,
  operationId: 'compactCodexResponse',
  path: '/codex/v1/responses/compact',
  servedBy: 'vendorc',
})
