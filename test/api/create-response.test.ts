import { describe, expect, it } from 'vitest'
import { describeCallOperation } from '../support/call-operation.ts'
import { checkAnswer } from '../support/contract/contract-check.ts'
import { sampleResponse } from '../support/contract/sample-response.ts'
import { startEngine } from '../support/engine.ts'
import { startGateway } from '../support/gateway.ts'
import { TEAM } from '../support/local-worker.ts'

describe.each(['/v1/responses', '/codex/v1/responses'])('%s', (path) => {
  describe('400', () => {
    it('answers previous_response_not_found where no backend holds the earlier response', async () => {
      await using engine = await startEngine()
      await using gateway = await startGateway({ engine: engine.url, team: TEAM })
      const body = { ...sampleResponse.body, model: 'svc/fast', previous_response_id: 'resp_1' }
      const response = await gateway.post(path, body)
      await checkAnswer('POST', new URL(path, gateway.url), response)
      expect(response.status).toBe(400)
      expect(await response.json()).toMatchObject({
        error: { type: 'invalid_request_error', code: 'previous_response_not_found' },
      })
    })
  })
})

describeCallOperation({ operationId: 'createResponse', path: '/v1/responses', servedBy: 'vendora', ...sampleResponse })
