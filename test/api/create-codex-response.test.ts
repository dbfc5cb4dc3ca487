import { describeCallOperation } from '../support/call-operation.ts'
import { sampleResponse } from '../support/contract/sample-response.ts'

describeCallOperation({
  operationId: 'createCodexResponse',
  path: '/codex/v1/responses',
  servedBy: 'vendorc',
  ...sampleResponse,
})
