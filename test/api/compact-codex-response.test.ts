import { describeCallOperation } from '../support/call-operation.ts'

describeCallOperation({
  operationId: 'compactCodexResponse',
  path: '/codex/v1/responses/compact',
  servedBy: 'vendorc',
  body: { input: [{ type: 'message', role: 'user', content: 'Say hello.' }], instructions: 'Be brief.' },
  answer: { output: [{ type: 'compaction', encrypted_content: 'gAAA' }] },
  mayBeUnsupported: true,
})
