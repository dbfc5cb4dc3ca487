import { describeCallOperation } from '../support/call-operation.ts'
import { sampleResponse } from '../support/sample-response.ts'

describeCallOperation({
  operationId: 'createCodexResponse',
  path: '/codex/v1/responses',
  servedBy: 'vendorc',
  ...sampleResponse,
})
