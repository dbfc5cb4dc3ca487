import { describeCallOperation } from '../support/call-operation.ts'
import { sampleResponse } from '../support/contract/sample-response.ts'

describeCallOperation({ operationId: 'createResponse', path: '/v1/responses', servedBy: 'vendora', ...sampleResponse })
