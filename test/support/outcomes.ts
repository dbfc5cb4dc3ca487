import type { Outcome } from '../../src/gateway/exchange/outcome.ts'

/** The outcome of a call whose backend cannot be reached. */
export const UNREACHABLE: Outcome = {
  kind: 'unreachable',
  answered: false,
  isSent: false,
  status: null,
  firstByteMs: null,
  bytes: 0,
  reason: 'ECONNREFUSED',
  refusal: null,
  kept: null,
}
