import { describeCallOperation } from '../support/call-operation.ts'
import { sampleResponse } from '../support/sample-response.ts'

describeCallOperation({ operationId: 'createResponse', path: '/v1/responses', servedBy: 'vendora', ...sampleResponse })
