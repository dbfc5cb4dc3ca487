import type { Logger } from '../../log.ts'
import { writeAttempts } from './events.ts'
import type { CallEvent } from './events.ts'

/** Returns a function that logs each call that has ended, for a gateway without a database. */
export function makeEventLog(log: Logger): (event: CallEvent) => void {
  return ({ kind, call, result }) => {
    if (!result) return
    const { requestId, caller, sessionId, dialect, model, servedBy } = call
    const { outcome, status, firstByteMs, durationMs, usage, isEstimated, costNanoUsd } = result
    const { inputTokens, cacheReadTokens, cacheWriteTokens, cacheWriteLongTokens, outputTokens, reasoningTokens } =
      usage
    const fields = {
      requestId,
      sessionId,
      dialect,
      model,
      servedBy,
      accountId: caller.accountId,
      team: caller.team,
      // Every caller has a device session, because API keys need a database.
      deviceSessionId: caller.sessionId,
      attempts: writeAttempts(result.attempts),
      outcome,
      status,
      firstByteMs,
      durationMs,
      isEstimated,
      costNanoUsd,
      inputTokens,
      cacheReadTokens,
      cacheWriteTokens,
      cacheWriteLongTokens,
      outputTokens,
      reasoningTokens,
    }
    log.info(fields, `call.${kind}`)
  }
}
