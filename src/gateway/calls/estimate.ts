import type { ServerResponse } from 'node:http'
import { ApiError } from '../../http/errors.ts'
import { GATEWAY_NAME } from '../../kernel/backend-name.ts'
import { estimateTokens } from '../dialects/count-tokens.ts'
import type { Json } from '../dialects/json/read-json.ts'

/** Answers a request to count tokens where no backend of the model can: with an estimate, which a header marks. */
export function sendEstimate(body: Json, res: ServerResponse): void {
  const estimate = estimateTokens(body)
  if ('refused' in estimate) {
    const { param, message } = estimate.refused
    throw new ApiError('invalid_request', { message: `${param}: ${message}` })
  }
  const answer = JSON.stringify({ input_tokens: estimate.inputTokens })
  res.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(answer),
    'x-svc-served-by': GATEWAY_NAME,
    'x-svc-estimated': '1',
  })
  res.end(answer)
}
