import { describe, expect, it } from 'vitest'
import { ENDED_EARLY, NAMELESS_CALL, NOT_BEGUN, NOT_JSON } from '../../src/gateway/dialects/failures/failure.ts'
import {
  ACCESS_ENDED,
  BACKEND_BROKE_OFF,
  BACKEND_WAS_SILENT,
  MEMORY_FULL,
  SERVICE_STOPPED,
} from '../../src/gateway/exchange/stream-failures.ts'

/** Among the words after which opencode 1.18 and pi 1.6 repeat a call that failed in its stream. */
const REPEATED = /try your request again/i

describe('the message of a stream that failed', () => {
  it.each([
    BACKEND_BROKE_OFF,
    BACKEND_WAS_SILENT,
    SERVICE_STOPPED,
    MEMORY_FULL,
    ENDED_EARLY,
    NOT_BEGUN,
    NOT_JSON,
    NAMELESS_CALL,
  ])('makes agents repeat the call where that may help: $message', ({ message }) => {
    expect(message).toMatch(REPEATED)
  })

  it('does not make agents repeat a call whose access has ended', () => {
    expect(ACCESS_ENDED.message).not.toMatch(REPEATED)
  })
})
